"""The drawings of adding up: who adds up what, and the steps of a ring.

The chapter *Parameter servers* shows them.
"""

from __future__ import annotations

from typing import Any

from dlperf import drawing
from dlperf.palette import COLORS
from dlperf.servers.ring import steps

SHARES = COLORS[0], COLORS[1], COLORS[2], COLORS[4]
"""The quarters of a gradient."""
SIDE = 0.46
"""Inches: how wide and high a device is."""


def shapes() -> Any:
    """Returns the drawing of three ways to add up the gradients of four devices: who adds up which quarter."""
    fig, axes = drawing.canvas(2.95)
    columns = [1.42 + 0.66 * i for i in range(5)]
    for i, x in enumerate(columns):
        drawing.label(axes, x + SIDE / 2, 0.2, str(i) if i < 4 else "CPU")
    drawing.label(axes, 0.05, 0.2, "device", "left")
    every, nothing = (0, 1, 2, 3), ()
    adds: dict[str, list[Any]] = {
        "on one": [every, nothing, nothing, nothing, None],
        "on the CPU": [nothing, nothing, nothing, nothing, every],
        "sharded": [(0,), (1,), (2,), (3,), None],
    }
    for row, (name, quarters) in enumerate(adds.items()):
        y = 0.5 + 0.8 * row
        drawing.label(axes, 0.05, y + SIDE / 2, name, "left", "bold")
        for x, mine in zip(columns, quarters, strict=True):
            if mine is not None:
                _device(axes, x, y, mine)
    return fig


def _device(axes: Any, x: float, y: float, adds: tuple[int, ...]) -> None:
    """Draws a device's gradient, in quarters; those that it adds up are full."""
    for quarter, color in enumerate(SHARES):
        draw = drawing.strong_box if quarter in adds else drawing.box
        draw(axes, x, y + quarter * SIDE / 4, SIDE, SIDE / 4, color)


def ring_steps(size: int = 4) -> Any:
    """Returns the drawing of a ring's steps: a bar for each share of each rank, as high as it has ranks added up."""
    fig, axes = drawing.canvas(3.2)
    states = _states(size)
    width = 0.09
    for column, sums in enumerate(states):
        left = 0.72 + column * 0.58
        for rank, row in enumerate(sums):
            bottom = 1.06 + rank * 0.62
            for share, (count, color) in enumerate(zip(row, SHARES, strict=True)):
                x, high = left + share * (width + 0.015), 0.42 * count / size
                (drawing.strong_box if count == size else drawing.box)(axes, x, bottom - high, width, high, color)
    for rank in range(size):
        drawing.label(axes, 0.05, 0.88 + rank * 0.62, f"rank {rank}", "left")
    half = 0.72 + (size - 0.5) * 0.58
    drawing.label(axes, 0.72 + 1.5 * 0.58 + 0.2, 0.2, "reduce-scatter", weight="bold")
    drawing.label(axes, 0.72 + 5 * 0.58 + 0.2, 0.2, "all-gather", weight="bold")
    drawing.guide(axes, (half + 0.21, 0.38), (half + 0.21, 3.1))
    return fig


def _states(size: int) -> list[list[list[int]]]:
    """Returns, before the first step and after each, of how many ranks every rank's shares are the sum."""
    sums = [[1] * size for _ in range(size)]
    states = [[list(row) for row in sums]]
    for turn, moves in enumerate(steps(size)):
        sent = {move: sums[move.source][move.share] for move in moves}
        for move, count in sent.items():
            adding = turn < size - 1
            sums[move.target][move.share] = sums[move.target][move.share] + count if adding else count
        states.append([list(row) for row in sums])
    return states
