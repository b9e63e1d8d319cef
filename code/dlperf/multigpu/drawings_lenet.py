"""Drawings of a data-parallel step, and of three ways to add up what k devices have.

The chapter *Training on multiple GPUs, from scratch* shows them.
"""

from __future__ import annotations

from typing import Any

from dlperf import drawing
from dlperf.drawing import Lane
from dlperf.palette import COLORS

WORKS, SENDS, GRADIENTS, CHANGES = COLORS[0], COLORS[3], COLORS[5], COLORS[2]
"""What computes, what goes over a link, what is added up, and what changes the weights."""


def step(devices: int = 2) -> Any:
    """Returns the drawing of a step on several devices: own part, own gradient, one sum, the same change."""
    fig, axes = drawing.canvas(0.62 * devices + 0.2)
    width = {"batch": 0.62, "forward": 0.78, "backward": 0.84, "sum": 0.5, "step": 0.5}
    gap, x, left = 0.26, 0.08, {}
    for name, wide in width.items():
        left[name], x = x, x + wide + gap
    last, high = 0.62 * (devices - 1) + 0.3, 0.3
    for name, color in (("batch", COLORS[1]), ("sum", GRADIENTS)):
        drawing.box(axes, left[name], 0.2, width[name], last, color, name)
    for i in range(devices):
        y = 0.2 + 0.62 * i
        for name, color in (("forward", WORKS), ("backward", WORKS), ("step", CHANGES)):
            drawing.box(axes, left[name], y, width[name], high, color, name)
        for before, after in zip(width, list(width)[1:], strict=False):
            end = left[before] + width[before]
            drawing.arrow(axes, (end, y + high / 2), (left[after], y + high / 2))
    return fig


def reductions(size: int = 3) -> Any:
    """Returns the drawing of the three ways on a time axis: what each device sends, by the number of the share."""
    share, long = 1 / size, float(size - 1)
    fig, axes = drawing.canvas(3 * (0.3 * size + 0.44) + 0.12)
    scale = (drawing.WIDTH - 0.9) / (2 * long)
    for n, title in enumerate(("to one and back", "sharded", "ring")):
        top = n * (0.3 * size + 0.44) + 0.12
        drawing.label(axes, 0, top, title, "left", "bold")
        lanes = [Lane(axes, top + 0.17 + 0.3 * i, 0.8, scale) for i in range(size)]
        for rank, lane in enumerate(lanes):
            lane.name(f"device {rank}")
            if n == 0 and rank == 0:
                for turn in range(size - 1):
                    lane.block((long + turn, long + turn + 1), GRADIENTS)
            elif n == 0:
                lane.block((0, long), SENDS)
            else:
                for turn in range(2 * (size - 1)):
                    color = GRADIENTS if turn >= size - 1 else SENDS
                    lane.block((turn * share, (turn + 1) * share), color, _name(n, rank, turn, size))
    return fig


def _name(way: int, rank: int, turn: int, size: int) -> str:
    """Returns which share a rank sends in a turn: sharded (1) or around the ring (2)."""
    if way == 2:
        return str((rank - turn) % size)
    others = [r for r in range(size) if r != rank]
    return str(rank if turn >= size - 1 else others[turn])
