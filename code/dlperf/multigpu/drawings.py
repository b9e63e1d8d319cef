"""The drawings of the ways to split a network: what each device has and sends, and a pipeline with its bubble.

The chapter *Training on multiple GPUs, from scratch* shows them.
"""

from __future__ import annotations

from typing import Any

from dlperf import drawing
from dlperf.drawing import Lane
from dlperf.multigpu.pipeline import length, schedule
from dlperf.palette import COLORS

FIRST, SECOND, BOTH = COLORS[0], COLORS[1], COLORS[2]
"""What the first device has, the second, and both of them."""
BACK = COLORS[4]
"""What a pipeline computes on the way back."""

ACROSS, DOWN = 0.46, 0.62
"""Inches: the width and height of a matrix."""
NAMES = "x", "W1", "a", "W2", "y"


def three_ways() -> Any:
    """Returns the drawing of two layers on two devices: what each has, and sends."""
    fig, axes = drawing.canvas(4.25)
    gap = (drawing.WIDTH - 0.1 - len(NAMES) * ACROSS) / (len(NAMES) - 1)
    xs = [0.05 + i * (ACROSS + gap) for i in range(len(NAMES))]
    for i, name in enumerate(NAMES):
        drawing.label(axes, xs[i] + ACROSS / 2, 0.62, name)
    for i, (name, color) in enumerate({"device 0": FIRST, "device 1": SECOND, "both": BOTH}.items()):
        drawing.box(axes, 0.05 + 1.6 * i, 0.08, 0.24, 0.24, color)
        drawing.label(axes, 0.37 + 1.6 * i, 0.2, name, "left")
    splits = {
        "by data": ("rows", "both", "rows", "both", "rows"),
        "by layer": ("both", "columns", "columns", "rows", "both"),
        "by network": ("first", "first", "first", "second", "second"),
    }
    sent = "sent: dW1, dW2", "sent: y, dx", "sent: a, da"
    for n, (title, cuts) in enumerate(splits.items()):
        top = 1.14 + 1.16 * n
        drawing.label(axes, 0.05, top - 0.24, title, "left", "bold")
        drawing.label(axes, drawing.WIDTH - 0.05, top - 0.24, sent[n], "right")
        for x, cut in zip(xs, cuts, strict=True):
            _matrix(axes, x, top, cut)
        for i in range(len(xs) - 1):
            middle = top + DOWN / 2
            drawing.arrow(axes, (xs[i] + ACROSS + 0.06, middle), (xs[i + 1] - 0.06, middle))
    return fig


def _matrix(axes: Any, x: float, y: float, cut: str) -> None:
    """Draws a matrix, each part in the colour of who has it."""
    whole = {"both": BOTH, "first": FIRST, "second": SECOND}
    if cut in whole:
        drawing.box(axes, x, y, ACROSS, DOWN, whole[cut])
    elif cut == "rows":
        drawing.box(axes, x, y, ACROSS, DOWN / 2, FIRST)
        drawing.box(axes, x, y + DOWN / 2, ACROSS, DOWN / 2, SECOND)
    else:
        drawing.box(axes, x, y, ACROSS / 2, DOWN, FIRST)
        drawing.box(axes, x + ACROSS / 2, y, ACROSS / 2, DOWN, SECOND)


def pipelines(micro_batches: int = 4, forward: float = 1.0, back: float = 2.0) -> Any:
    """Returns the drawing of a step of two stages, with the batch whole and in micro-batches."""
    fig, axes = drawing.canvas(2.6)
    whole = schedule([forward] * 2, [back] * 2, 1)
    cut = schedule([forward / micro_batches] * 2, [back / micro_batches] * 2, micro_batches)
    scale = (drawing.WIDTH - 0.95) / length(whole)
    for top, title, lanes in (0.1, "whole", whole), (1.42, "in micro-batches", cut):
        drawing.label(axes, 0, top, title, "left", "bold")
        for stage, spans in enumerate(lanes):
            lane = Lane(axes, top + 0.2 + 0.32 * stage, 0.9, scale)
            lane.name(f"device {stage}")
            numbered = len(spans) > 2
            for i, span in enumerate(spans):
                ahead = i < len(spans) // 2
                text = str(i % (len(spans) // 2) + 1) if numbered and not ahead else ""
                lane.block(span, (FIRST, SECOND)[stage] if ahead else BACK, text)
            for gap in _waits(spans, length(lanes)):
                lane.wait(gap)
        bottom = top + 0.2 + 0.32 + drawing.LANE
        drawing.interval(axes, 0.9, 0.9 + scale * length(lanes), bottom + 0.2)
    return fig


def _waits(spans: list[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    """Returns when a device waits, from the beginning to the ``end`` of the step."""
    edges = [0.0, *(edge for span in spans for edge in span), end]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a > 1e-9]
