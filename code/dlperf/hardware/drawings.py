"""The drawings of the chapter: the machine, a cache line, chains of operations, a roofline, a systolic array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlperf import drawing
from dlperf.drawing import Lane
from dlperf.palette import COLORS

WORKS, ASKS, MOVES, PLAIN = *COLORS[:3], COLORS[5]
"""What computes, what is asked for, what holds or moves bytes, and what is beside the point."""


def machine(rates: Mapping[str, str] | None = None) -> Any:
    """Returns the drawing of a machine: a core and what it can reach, the farther the longer it takes.

    ``rates`` has what is written beside a place: its latency or its bandwidth, by the names in the drawing.
    """
    rates = rates or {}
    fig, axes = drawing.canvas(3.62)
    x, width, height, each = 0.05, 1.5, 0.32, 0.5
    for i, name in enumerate(("registers", "L1 cache", "L2 cache")):
        y = 0.28 + each * i
        drawing.box(axes, x, y, width, height, MOVES if i else WORKS, name)
        drawing.arrow(axes, (x + width / 2, y + each), (x + width / 2, y + height))
        drawing.label(axes, x + width + 0.1, y + height / 2, rates.get(name, ""), "left")
    drawing.label(axes, x + width / 2, 0.12, "core", weight="bold")
    drawing.box(axes, 3.2, 0.28, width - 0.05, height + 2 * each, PLAIN, "other core")
    drawing.line(axes, (3.92, 0.28 + height + 2 * each), (3.92, 0.28 + 3 * each))
    drawing.label(axes, 3.2 + (width - 0.05) / 2, 0.12, rates.get("other core", ""))
    memory = 0.28 + 3 * each
    drawing.box(axes, x, memory, drawing.WIDTH - 2 * x, height, MOVES, "memory")
    bus, below = memory + height + 0.42, memory + height + 0.62
    drawing.line(axes, (drawing.WIDTH / 2, memory + height), (drawing.WIDTH / 2, bus))
    drawing.line(axes, (0.72, bus), (3.98, bus))
    drawing.label(axes, 0.05, memory + height + 0.2, rates.get("memory", ""), "left")
    for middle, name in ((0.72, "disk"), (2.35, "network"), (3.98, "GPU")):
        drawing.line(axes, (middle, bus), (middle, below))
        drawing.box(axes, middle - 0.65, below, 1.3, height, PLAIN, name)
        drawing.label(axes, middle, below + height + 0.18, rates.get(name, ""))
    return fig


def line(words: int = 16) -> Any:
    """Returns the drawing of cache lines: all of a line is fetched, whether all of it or one word is used."""
    fig, axes = drawing.canvas(2.3)
    left, length = 0.02, drawing.WIDTH - 0.04
    each = length / words
    rows = {"every word": range(words), "every fourth": range(0, words, 4), "one of a line": (5,)}
    for row, (name, used) in enumerate(rows.items()):
        y = 0.76 * row
        drawing.label(axes, 0, y + 0.12, name, "left", "bold")
        for i in range(words):
            draw = drawing.strong_box if i in used else drawing.box
            draw(axes, left + each * i, y + 0.28, 0.86 * each, 0.24, MOVES)
        drawing.label(axes, drawing.WIDTH, y + 0.12, f"{words}/{len(used)}", "right")
    return fig


def chains(latency: int = 4, counts: tuple[int, ...] = (1, 4)) -> Any:
    """Returns the drawing of operations that wait for one another, and of independent ones that fill a unit."""
    steps, height = 3 * latency, 0.2
    rows = sum(counts) * (height + 0.05) + 0.62 * len(counts)
    fig, axes = drawing.canvas(rows)
    scale, y = (drawing.WIDTH - 0.04) / steps, 0.0
    names = {1: "one chain", **{k: "independent chains" for k in counts if k > 1}}
    for count in counts:
        drawing.label(axes, 0, y + 0.1, names[count], "left", "bold")
        y += 0.26
        for chain in range(count):
            lane = Lane(axes, y, 0.02, scale, height)
            for start in range(chain, steps - latency + 1, latency):
                lane.strong((start, start + 1), WORKS)
                lane.block((start + 1, start + latency), WORKS)
            y += height + 0.05
        y += 0.3
    return fig


def roof() -> Any:
    """Returns the drawing of a roofline's idea: memory limits on the left, arithmetic on the right, points below."""
    fig, axes = drawing.canvas(2.45)
    left, bottom, top, ridge, right = 0.35, 2.1, 0.5, 2.2, 4.6
    drawing.arrow(axes, (left, bottom), (right + 0.08, bottom))
    drawing.arrow(axes, (left, bottom), (left, 0.12))
    drawing.line(axes, (left, bottom - 0.25), (ridge, top))
    drawing.line(axes, (ridge, top), (right, top))
    drawing.guide(axes, (ridge, top), (ridge, bottom))
    drawing.label(axes, 1.02, 0.9, "memory")
    drawing.label(axes, 3.4, top - 0.2, "arithmetic")
    drawing.label(axes, (left + right) / 2, bottom + 0.2, "FLOPs per byte")
    drawing.label(axes, left + 0.12, 0.18, "FLOPs per second", "left")
    for x, y, color in ((1.5, 1.5, MOVES), (3.0, 0.95, WORKS), (4.1, 0.56, WORKS)):
        drawing.token(axes, x, y, color)
    drawing.arrow(axes, (1.5, 1.38), (1.5, 1.14))
    drawing.arrow(axes, (3.0, 0.83), (3.0, top + 0.03))
    drawing.label(axes, 3.12, 1.25, "what is lost")
    return fig


def grid(n: int = 4) -> Any:
    """Returns the drawing of a systolic array: numbers enter from the left and from above, and are handed on."""
    each, size = 0.56, 0.34
    fig, axes = drawing.canvas(0.62 + each * n)
    left, top = 1.3, 0.62
    for i in range(n):
        for j in range(n):
            x, y = left + each * j, top + each * i
            drawing.box(axes, x, y, size, size, WORKS, "×")
            drawing.arrow(axes, (x - each + size, y + size / 2), (x, y + size / 2))
            drawing.arrow(axes, (x + size / 2, y - each + size), (x + size / 2, y))
    drawing.label(axes, 1.02, top + each * n / 2 - 0.1, "rows", "right")
    drawing.label(axes, left + each * n / 2 - 0.1, 0.14, "columns")
    drawing.label(axes, left + each * n + 0.1, top + each * n / 2 - 0.1, "sums stay", "left")
    return fig
