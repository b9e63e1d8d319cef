"""The chapter's drawings of DistributedDataParallel: what three lines take over, and gradients in buckets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from dlperf import drawing
from dlperf.asynchrony.drawings import gaps
from dlperf.drawing import Lane
from dlperf.palette import COLORS
from dlperf.parallel.gradients import messages

WORKS, SPLITS, SENDS, GRADIENTS = COLORS[0], COLORS[1], COLORS[3], COLORS[5]
"""What computes, what each message costs, what goes over a link, and what comes out of a backward pass."""

TAKEN: dict[str, tuple[str, ...]] = {
    "init_process_group": ("who is there", "how to send"),
    "DistributedDataParallel": ("the same weights", "average gradients", "while they come"),
    "DistributedSampler": ("whose examples", "a new order"),
}
"""What was written by hand, by the line that takes it over."""


def three_lines() -> Any:
    """Returns the drawing of what was written by hand, and of the three lines that take it over."""
    high, step, gap = 0.28, 0.36, 0.14
    fig, axes = drawing.canvas(0.45 + sum(step * len(what) + gap for what in TAKEN.values()))
    drawing.label(axes, 0.85, 0.14, "by hand", weight="bold")
    y = 0.36
    for n, (line, what) in enumerate(TAKEN.items()):
        middle = y + (step * len(what) - (step - high)) / 2
        drawing.box(axes, 2.5, middle - 0.17, 2.15, 0.34, COLORS[n], line)
        for text in what:
            drawing.box(axes, 0.05, y, 1.6, high, COLORS[n], text)
            drawing.arrow(axes, (1.65, y + high / 2), (2.5, middle))
            y += step
        y += gap
    return fig


def bucketed(
    layers: Sequence[float] = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    weighs: Sequence[float] = (0.6, 0.6, 0.6, 0.6, 0.6, 0.6),
    latency: float = 0.8,
    buckets: dict[str, Sequence[int]] | None = None,
) -> Any:
    """Returns the drawing of gradients in buckets of three sizes; each message costs a latency."""
    buckets = buckets or {"too small": (1,) * len(layers), "between": (2, 2, 2), "too large": (len(layers),)}
    ready = list(accumulate(layers))
    ways = {}
    for title, numbers in buckets.items():
        ends = list(accumulate(numbers))
        sizes = [sum(weighs[a:b]) for a, b in pairwise((0, *ends))]
        ways[title] = messages([ready[end - 1] for end in ends], [latency + size for size in sizes])
    scale = (drawing.WIDTH - 1.1) / max(spans[-1][1] for spans in ways.values())
    fig, axes = drawing.canvas(0.98 * len(ways) + 0.02)
    for i, (title, spans) in enumerate(ways.items()):
        top = 0.98 * i + 0.1
        drawing.label(axes, 0, top, title, "left", "bold")
        above, below = (Lane(axes, top + y, 1.05, scale) for y in (0.18, 0.5))
        above.name("backward")
        below.name("link")
        for n, span in enumerate(pairwise((0.0, *ready))):
            above.block(span, WORKS, str(len(ready) - n))
        for start, end in spans:
            below.strong((start, start + latency), SPLITS)
            below.block((start + latency, end), SENDS)
        for gap in gaps(spans):
            below.wait(gap)
    return fig
