"""The drawings and tables of the ways to split: what each device has and sends, a pipeline, costs, which to take.

The chapter *Training on multiple GPUs, from scratch* shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from dlperf import drawing, plot
from dlperf.drawing import Lane
from dlperf.measurement import Measurement, format_quantity
from dlperf.multigpu import split_costs, traffic
from dlperf.multigpu.pipeline import bubble, schedule
from dlperf.multigpu.split_costs import PLANS, Plan
from dlperf.multigpu.splits import Case, Strategy
from dlperf.palette import COLORS
from dlperf.spans import Span, extent

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
    for i, (name, color) in enumerate({"device 0": FIRST, "device 1": SECOND, "both devices": BOTH}.items()):
        drawing.box(axes, 0.05 + 1.6 * i, 0.08, 0.24, 0.24, color)
        drawing.label(axes, 0.37 + 1.6 * i, 0.2, name, "left")
    parts = {
        Strategy.DATA: ("rows", "both", "rows", "both", "rows"),
        Strategy.LAYER: ("both", "columns", "columns", "rows", "both"),
        Strategy.NETWORK: ("first", "first", "first", "second", "second"),
    }
    sent = "sent: dW1, dW2", "sent: y, dx", "sent: a, da"
    for n, (strategy, cuts) in enumerate(parts.items()):
        top = 1.14 + 1.16 * n
        drawing.label(axes, 0.05, top - 0.24, str(strategy), "left", "bold")
        drawing.label(axes, drawing.WIDTH - 0.05, top - 0.24, sent[n], "right")
        for x, cut in zip(xs, cuts, strict=True):
            _matrix(axes, x, top, cut)
        for left, right in pairwise(xs):
            drawing.arrow(axes, (left + ACROSS + 0.06, top + DOWN / 2), (right - 0.06, top + DOWN / 2))
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
    scale = (drawing.WIDTH - 0.95) / _length(whole)
    for top, title, lanes in (0.1, "in one piece", whole), (1.42, "in micro-batches", cut):
        drawing.label(axes, 0, top, title, "left", "bold")
        for stage, spans in enumerate(lanes):
            lane = Lane(axes, top + 0.2 + 0.32 * stage, 0.9, scale)
            lane.name(f"device {stage}")
            _blocks(lane, stage, spans)
            for gap in _gaps(spans, _length(lanes)):
                lane.wait(gap)
        bottom = top + 0.2 + 0.32 + drawing.LANE
        drawing.interval(axes, 0.9, 0.9 + scale * _length(lanes), bottom + 0.2)
    return fig


def _blocks(lane: Lane, stage: int, spans: Sequence[Span]) -> None:
    """Draws what a stage computes: forward, then back, numbered where there are several micro-batches."""
    half = len(spans) // 2
    for i, span in enumerate(spans):
        text = str(i - half + 1) if i >= half > 1 else ""
        lane.block(span, (FIRST, SECOND)[stage] if i < half else BACK, text)


def _length(lanes: Sequence[Sequence[Span]]) -> float:
    return extent([span for lane in lanes for span in lane])


def _gaps(spans: Sequence[Span], end: float) -> list[Span]:
    """Returns when a device waits, from the beginning to the ``end`` of the step."""
    edges = [0.0, *(edge for span in spans for edge in span), end]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a > 1e-9]


def costs(found: Mapping[str, Measurement | float], cases: Sequence[Case]) -> plot.Table:
    """Returns the table of what `split_trials.compare` found, with a dash for what was not counted."""
    rows = []
    for case in cases:
        network = case.strategy is Strategy.NETWORK
        counted = found.get(f"{case.key}-bytes-ratio")
        rows.append(
            (
                str(case.strategy),
                str(case.micro_batches) if network else "–",
                format_quantity(traffic.on_wire(split_costs.predicted_bytes(case)), "B"),
                "–" if counted is None else f"{counted:.2f}",
                format_quantity(split_costs.predicted_memory(case), "B"),
                f"{found[f'{case.key}-memory-ratio']:.2f}",
                f"{100 * bubble(2, case.micro_batches):.0f} %" if network else "–",
                f"{100 * _median(found[f'{case.key}-waiting']):.0f} %",
                str(found[f"{case.key}-step"]),
            )
        )
    heads = "strategy", "micro-batches", "bytes sent, predicted", "counted / predicted", "memory, predicted"
    return plot.Table((*heads, "measured / predicted", "bubble", "waiting", "time"), rows)


def _median(value: Measurement | float) -> float:
    return value.median if isinstance(value, Measurement) else value


def choices(plans: Sequence[tuple[str, str, Plan]] = PLANS) -> plot.Table:
    """Returns the table to decide from: how well each strategy uses the devices of each plan, and which to take."""
    rows = []
    for model, link, plan in plans:
        shares = [f"{100 * plan.efficiency(each):.0f} %" if plan.fits(each) else "–" for each in Strategy]
        take = str(plan.best() or "none fits")
        rows.append((plot.Name(model), str(plan.tokens), plot.Name(link), str(plan.devices), *shares, take))
    heads = "model", "tokens in a batch", "link", "devices"
    return plot.Table((*heads, *map(str, Strategy), "take"), rows)
