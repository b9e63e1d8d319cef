"""The engine's record as figures: what had to follow what, who ran what when, what memory it took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dlperf.engine.scheduler import FRONT_END, Operation
from dlperf.plot import COLORS, INK, figure

EDGES = {"RAW": (INK, "-"), "WAR": (COLORS[1], "--"), "WAW": (COLORS[3], ":")}
"""Colour and stroke of each kind of dependency: a value is handed on, or memory is used again."""


def draw_graph(operations: Iterable[Operation]) -> Any:
    """Returns the dependency graph as a figure: an operation stands one step right of the last that it follows."""
    ops = {op.number: op for op in operations if op.device != FRONT_END}
    place: dict[int, tuple[int, int]] = {}
    heights: dict[int, int] = {}
    for number, op in ops.items():
        step = 1 + max((place[n][0] for n in op.after if n in place), default=-1)
        heights[step] = heights.get(step, 0) + 1
        place[number] = step, -heights[step]
    fig, axes = figure(height=1 + 0.7 * max(heights.values(), default=1))
    for number, op in ops.items():
        for n, kind in op.after.items():
            if n in place:
                color, stroke = EDGES[kind]
                arrow = {"arrowstyle": "->", "color": color, "linestyle": stroke, "shrinkA": 20, "shrinkB": 20}
                axes.annotate("", place[number], place[n], arrowprops=arrow)
        box = {"boxstyle": "round", "facecolor": "none", "edgecolor": COLORS[0]}
        axes.text(*place[number], op.name, ha="center", va="center", bbox=box)
    axes.set(xlim=(-0.5, max(heights, default=0) + 0.5), ylim=(-max(heights.values(), default=1) - 0.5, -0.5))
    axes.axis("off")
    return fig


def draw_timeline(operations: Iterable[Operation]) -> Any:
    """Returns who ran what when as a figure: a row per device, and one for the waits of who called the engine."""
    ops = list(operations)
    rows = sorted({op.device for op in ops}, key=lambda device: (device != FRONT_END, device), reverse=True)
    zero = min((op.enqueued for op in ops), default=0.0)
    fig, axes = figure(height=1 + 0.5 * len(rows))
    for row, device in enumerate(rows):
        spans = [((op.start - zero) * 1e3, (op.end - op.start) * 1e3) for op in ops if op.device == device]
        color = COLORS[1] if device == FRONT_END else COLORS[0]
        axes.broken_barh(spans, (row - 0.35, 0.7), facecolors=color, edgecolor="white", linewidth=0.5)
    axes.set(xlabel="time (ms)", yticks=range(len(rows)), yticklabels=rows)
    axes.grid(visible=False, axis="y")
    return fig


def draw_memory(**runs: Sequence[tuple[float, int]]) -> Any:
    """Returns the live bytes of several runs over time as a figure; each is what `Engine.live_bytes` returned."""
    fig, axes = figure()
    for label, run in runs.items():
        axes.step([(t - run[0][0]) * 1e3 for t, _ in run], [size / 1e6 for _, size in run], where="post", label=label)
    axes.set(xlabel="time (ms)", ylabel="live memory (MB)", ylim=(0, None))
    axes.legend()
    return fig
