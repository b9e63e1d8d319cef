"""The drawings of the chapter: a step that is fed, three hazards, two loops, a bounded queue, and two streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from dlperf import drawing
from dlperf.drawing import Lane
from dlperf.palette import COLORS
from dlperf.spans import Span

WORKS, ASKS, MOVES = COLORS[:3]
"""What computes, what asks for it, and what brings data: as in the drawings of *Measuring performance*."""
HEARS = COLORS[4]
"""What it takes to hear that something is done."""

HAZARDS = {
    "RAW": ("write x", "read x", "a value is handed on"),
    "WAR": ("read x", "write x", "it must be read first"),
    "WAW": ("write x", "write x", "the last one must win"),
}
"""Of each hazard: what the earlier operation does, what the later one does, and why it has to wait."""


def in_line(first: float, second: float, number: int) -> tuple[list[Span], list[Span]]:
    """Returns when each of two sides is at work if they take turns: so many times ``first``, then ``second``."""
    each = first + second
    return (
        [(each * i, each * i + first) for i in range(number)],
        [(each * i + first, each * (i + 1)) for i in range(number)],
    )


def ahead(first: float, second: float, number: int) -> tuple[list[Span], list[Span]]:
    """Returns the same if the first side never waits, and the second only for what the first has made."""
    made = [(first * i, first * (i + 1)) for i in range(number)]
    used: list[Span] = []
    for _, end in made:
        start = max(end, used[-1][1]) if used else end
        used.append((start, start + second))
    return made, used


def gaps(spans: Sequence[Span], start: float = 0.0) -> list[Span]:
    """Returns the times between these spans, and before the first, in which nothing is done."""
    return [(a, b) for (_, a), (b, _) in pairwise([(0.0, start), *spans]) if b > a]


def fed(load: float = 0.75, compute: float = 1.0, number: int = 4) -> Any:
    """Returns the drawing of a step whose batches are loaded in line with it, and ahead of it."""
    fig, axes = drawing.canvas(2.75)
    each = in_line(load, compute, number)
    scale = (drawing.WIDTH - 1.1) / each[1][-1][1]
    for top, title, (loaded, computed) in ((0.1, "in line", each), (1.42, "ahead", ahead(load, compute, number))):
        drawing.label(axes, 0, top, title, "left", "bold")
        above, below = (Lane(axes, top + y, 1.05, scale) for y in (0.2, 0.54))
        above.name("loading")
        below.name("computing")
        for n, span in enumerate(loaded, 1):
            above.block(span, MOVES, str(n))
        for n, span in enumerate(computed, 1):
            below.block(span, WORKS, str(n))
        for gap in gaps(computed):
            below.wait(gap)
        end = below.at(computed[-1][1])
        drawing.interval(axes, below.at(0), end, below.bottom + 0.24)
    return fig


def hazards(kinds: Mapping[str, tuple[str, str, str]] = HAZARDS) -> Any:
    """Returns the drawing of the ``kinds`` of dependency: of two operations on one array, the later has to wait."""
    each, top = 0.95, 0.1
    fig, axes = drawing.canvas(each * len(kinds) + 0.02)
    for kind, (earlier, later, why) in kinds.items():
        drawing.label(axes, 0, top + 0.3, kind, "left", "bold")
        for x, text in ((0.75, earlier), (3.15, later)):
            color = ASKS if text.startswith("write") else WORKS
            drawing.box(axes, x, top + 0.12, 1.35, 0.36, color, text)
        drawing.arrow(axes, (2.16, top + 0.3), (3.09, top + 0.3))
        drawing.label(axes, 2.62, top + 0.68, why)
        top += each
    return fig


def costs(enqueue: float = 0.5, execute: float = 0.8, hear: float = 0.35, number: int = 4) -> Any:
    """Returns the drawing of so many calls, each waited for and then with one wait: what it takes on either side."""
    fig, axes = drawing.canvas(3.1)
    each = enqueue + execute + hear
    scale = (drawing.WIDTH - 1.0) / (each * number)
    one = [each * i for i in range(number)]
    asked, ran = ahead(enqueue, execute, number)
    waited = [(start, start + enqueue) for start in one], [(s + enqueue, s + enqueue + execute) for s in one]
    heard = [(s + enqueue + execute, s + each) for s in one]
    both = (
        (0.1, "a wait after each call", waited, heard),
        (1.62, "one wait at the end", (asked, ran), [(ran[-1][1], ran[-1][1] + hear)]),
    )
    for top, title, (calls, runs), hears in both:
        drawing.label(axes, 0, top, title, "left", "bold")
        front, back = (Lane(axes, top + y, 0.95, scale) for y in (0.22, 0.6))
        front.name("front end")
        back.name("back end")
        for span in calls:
            front.block(span, ASKS, "t₁")
        for span in runs:
            back.block(span, WORKS, "t₂")
        for span in hears:
            front.block(span, HEARS, "t₃")
        for gap in gaps(runs):
            back.wait(gap)
        drawing.interval(axes, front.at(0), front.at(hears[-1][1]), back.bottom + 0.26)
    return fig


def bounded(depth: int = 2) -> Any:
    """Returns the drawing of a queue with room for ``depth`` operations, full: whoever feeds it has to wait."""
    fig, axes = drawing.canvas(1.75)
    middle, width = 0.7, 0.44
    left = 1.75
    right = left + width * depth + 0.14
    drawing.box(axes, 0.0, middle - 0.22, 1.0, 0.44, ASKS, "front end")
    drawing.frame(axes, left - 0.07, middle - 0.3, right - left, 0.6)
    for i in range(depth):
        drawing.box(axes, left + width * i + 0.04, middle - 0.2, width - 0.08, 0.4, MOVES)
        drawing.token(axes, left + width * (i + 0.5), middle, MOVES)
    drawing.box(axes, 3.7, middle - 0.22, 1.0, 0.44, WORKS, "back end")
    drawing.arrow(axes, (1.06, middle), (left - 0.13, middle))
    drawing.arrow(axes, (right - 0.01, middle), (3.64, middle))
    drawing.label(axes, (left + right) / 2 - 0.07, 0.14, "a queue with a bound")
    drawing.label(axes, (right + 3.64) / 2, middle - 0.17, "next")
    drawing.guide(axes, (4.2, middle + 0.28), (4.2, 1.35))
    drawing.guide(axes, (4.2, 1.35), (0.5, 1.35))
    drawing.arrow(axes, (0.5, 1.35), (0.5, middle + 0.28))
    drawing.label(axes, 2.35, 1.55, "full: the front end waits")
    return fig


def streams(copy: float = 0.6, compute: float = 1.0, number: int = 3) -> Any:
    """Returns the drawing of batches that one stream copies while another computes: events join them."""
    fig, axes = drawing.canvas(1.55)
    copied, computed = ahead(copy, compute, number)
    side, main = (Lane(axes, y, 1.2, (drawing.WIDTH - 1.25) / computed[-1][1]) for y in (0.1, 0.85))
    side.name("side stream")
    main.name("main stream")
    for n, (a, b) in enumerate(zip(copied, computed, strict=True), 1):
        side.block(a, MOVES, str(n))
        main.block(b, WORKS, str(n))
        drawing.arrow(axes, (side.at(a[1]), side.bottom), (main.at(b[0]), main.y))
    drawing.label(axes, side.at(copied[0][1]) - 0.08, (side.bottom + main.y) / 2, "event", "right")
    for gap in gaps(computed):
        main.wait(gap)
    drawing.interval(axes, main.at(0), main.at(computed[-1][1]), 1.4)
    return fig
