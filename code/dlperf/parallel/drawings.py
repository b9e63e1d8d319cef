"""The drawings of the chapter: what is independent in a step, a wide operator and two narrow ones, chunks, messages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from dlperf import drawing
from dlperf.asynchrony.drawings import ahead, gaps
from dlperf.drawing import Lane
from dlperf.palette import COLORS
from dlperf.parallel.gradients import messages
from dlperf.parallel.schedule import Task, list_schedule
from dlperf.spans import Span

WORKS, SPLITS, MOVES, SENDS, GRADIENTS = *COLORS[:4], COLORS[5]
"""What computes, what it costs to split, what copies, what goes over a link, and what comes out of a backward pass."""


def step(layers: int = 3) -> Any:
    """Returns the drawing of a training step: what no arrows join is independent."""
    fig, axes = drawing.canvas(3.35)
    size, left, gap = (0.5, 0.28), 1.15, 2.6 / layers
    xs = [left + gap * i for i in range(layers)]
    rows = {"forward": 0.5, "backward": 1.15, "gradients": 1.75, "sending": 2.3, "copying": 2.95}
    for name, y in rows.items():
        drawing.label(axes, 0, y + size[1] / 2, name, "left")
    for x, n in zip(xs, range(1, layers + 1), strict=True):
        for name, color in {"forward": WORKS, "backward": WORKS, "gradients": GRADIENTS, "sending": SENDS}.items():
            if color == WORKS:  # the other half of the batch, behind it
                drawing.box(axes, x + 0.07, rows[name] - 0.07, *size, color)
            drawing.box(axes, x, rows[name], *size, color, str(n))
        middle = x + size[0] / 2
        for above, below in pairwise(("backward", "gradients", "sending")):
            drawing.arrow(axes, (middle, rows[above] + size[1]), (middle, rows[below]))
    ahead_of, back = rows["forward"] + size[1] / 2, rows["backward"] + size[1] / 2
    for x, after in pairwise(xs):
        drawing.arrow(axes, (x + size[0] + 0.07, ahead_of), (after, ahead_of))
        drawing.arrow(axes, (after, back), (x + size[0] + 0.07, back))
    loss = 4.05
    drawing.box(axes, loss, rows["forward"], 0.6, size[1], WORKS, "loss")
    drawing.arrow(axes, (xs[-1] + size[0] + 0.07, ahead_of), (loss, ahead_of))
    drawing.line(axes, (loss + 0.3, rows["forward"] + size[1]), (loss + 0.3, back))
    drawing.arrow(axes, (loss + 0.3, back), (xs[-1] + size[0] + 0.07, back))
    over = 0.24  # a branch: around the layers in the middle
    start, end = xs[0] + size[0] + 0.14, xs[-1] - 0.08
    drawing.line(axes, (start, ahead_of), (start, over))
    drawing.line(axes, (start, over), (end, over))
    drawing.arrow(axes, (end, over), (end, ahead_of))
    drawing.label(axes, (start + end) / 2, 0.1, "branch")
    drawing.box(axes, left, rows["copying"], xs[-1] + size[0] - left, size[1], MOVES, "next batch")
    return fig


def narrow(work: float = 1.0, split: float = 0.35, number: int = 2) -> Any:
    """Returns the drawing of two operators on two cores: each split among both, and each on a core of its own."""
    fig, axes = drawing.canvas(2.75)
    whole = number * (work + split)
    scale = (drawing.WIDTH - 0.85) / whole
    for top, title in ((0.1, "each on all cores"), (1.42, "each on one core")):
        drawing.label(axes, 0, top, title, "left", "bold")
        lanes = [Lane(axes, top + y, 0.8, scale) for y in (0.2, 0.52)]
        for i, lane in enumerate(lanes):
            lane.name(f"core {i + 1}")
            if top > 1:
                lane.block((0, number * work), WORKS, "AB"[i])
                continue
            for n in range(number):
                start = n * (work + split)
                lane.block((start, start + work), WORKS, "AB"[n])
                lane.strong((start + work, start + work + split), SPLITS)
        end = whole if top < 1 else number * work
        drawing.interval(axes, lanes[0].at(0), lanes[0].at(end), lanes[1].bottom + 0.2)
    drawing.label(axes, Lane(axes, 0, 0.8, scale).at(work + split / 2), 0.16, "c")
    return fig


def chunks(compute: float = 4.0, send: float = 4.0, number: int = 4) -> Any:
    """Returns the drawing of a result that is sent whole, and of one that is sent in chunks while it is computed."""
    fig, axes = drawing.canvas(2.75)
    scale = (drawing.WIDTH - 1.1) / (compute + send)
    whole = ahead(compute, send, 1)
    for top, title, (computed, sent) in (
        (0.1, "whole", whole),
        (1.42, "in chunks", ahead(compute / number, send / number, number)),
    ):
        drawing.label(axes, 0, top, title, "left", "bold")
        above, below = (Lane(axes, top + y, 1.05, scale) for y in (0.2, 0.54))
        above.name("computing")
        below.name("link")
        for n, (a, b) in enumerate(zip(computed, sent, strict=True), 1):
            text = str(n) if len(computed) > 1 else ""
            above.block(a, WORKS, text)
            below.block(b, SENDS, text)
        for gap in gaps(sent):
            below.wait(gap)
        drawing.interval(axes, below.at(0), below.at(sent[-1][1]), below.bottom + 0.22)
    return fig


def sent(
    layers: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    bytes_each: Sequence[float] = (1.5, 1.0, 0.6, 0.3),
    buckets: Sequence[int] = (1, 2, 1),
) -> Any:
    """Returns the drawing of gradients on a link: all at the end, each as soon as it is ready, and in buckets."""
    ready = list(accumulate(layers))
    last = [ready[-1]] * len(ready)
    ends = list(accumulate(buckets))
    filled = [ready[end - 1] for end in ends]
    sizes = [sum(bytes_each[a:b]) for a, b in pairwise((0, *ends))]
    ways: dict[str, list[Span]] = {
        "at the end": messages(last, bytes_each),
        "as ready": messages(ready, bytes_each),
        "in buckets": messages(filled, sizes),
    }
    scale = (drawing.WIDTH - 1.1) / ways["at the end"][-1][1]
    fig, axes = drawing.canvas(0.98 * len(ways) + 0.02)
    for i, (title, spans) in enumerate(ways.items()):
        top = 0.98 * i + 0.1
        drawing.label(axes, 0, top, title, "left", "bold")
        above, below = (Lane(axes, top + y, 1.05, scale) for y in (0.18, 0.5))
        above.name("backward")
        below.name("link")
        for n, (start, end) in enumerate(pairwise((0.0, *ready))):
            above.block((start, end), WORKS, str(len(ready) - n))
        for span in spans:
            below.block(span, SENDS)
        for gap in gaps(spans):
            below.wait(gap)
    return fig


def graham(third: float = 2.0, fourth: float = 1.0, fifth: float = 3.0) -> Any:
    """Returns the drawing of a list schedule of five tasks, the fifth after the third, with these two the longest path.

    ValueError unless the third takes longer than the fourth: until it is done the other core idles.
    """
    if third <= fourth:
        raise ValueError(f"a core idles where the third task takes longer than the fourth, got {third} and {fourth}")
    tasks = {1: Task(2), 2: Task(2), 3: Task(third), 4: Task(fourth), 5: Task(fifth, (3,))}
    fig, axes = drawing.canvas(1.25)
    turns, end, idle = list_schedule(tasks, 2), 2 + third + fifth, 2 + fourth
    lanes = [Lane(axes, y, 0.8, (drawing.WIDTH - 0.9) / end) for y in (0.46, 0.86)]
    for i, lane in enumerate(lanes):
        lane.name(f"core {i + 1}")
    for turn in turns:
        color = SENDS if turn.number in (3, 5) else WORKS
        lanes[turn.worker].block((turn.start, turn.end), color, str(turn.number))
    lanes[1].wait((idle, end))
    drawing.interval(axes, lanes[0].at(0), lanes[0].at(idle), 0.34, "all busy")
    drawing.interval(axes, lanes[0].at(idle), lanes[0].at(end), 0.34, "one idles")
    return fig
