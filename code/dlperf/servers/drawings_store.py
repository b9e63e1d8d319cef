"""The drawings of the store: parts of a tensor on several servers, and a chain that loses one.

The chapter *Parameter servers* shows them.
"""

from __future__ import annotations

from typing import Any

from dlperf import drawing
from dlperf.palette import COLORS

RANGES = COLORS[0], COLORS[1], COLORS[2]
"""The servers' ranges of keys."""
BOX = 0.85, 0.4
"""Inches: how wide and high a process is."""


def parts() -> Any:
    """Returns the drawing of two workers and three servers: each tensor's parts go round the servers."""
    fig, axes = drawing.canvas(2.75)
    servers = [0.72 + 1.4 * i for i in range(3)]
    for i, x in enumerate(servers):
        drawing.box(axes, x, 2.2, *BOX, RANGES[i], f"server {i}")
    for worker in range(2):
        left = 0.5 + 2.35 * worker
        drawing.label(axes, left + 0.8, 0.2, f"worker {worker}", weight="bold")
        for part in range(3):
            x = left + part * 0.54
            drawing.strong_box(axes, x, 0.42, 0.48, 0.26, RANGES[part])
            end = servers[part] + BOX[0] / 2 + 0.12 * (2 * worker - 1)
            drawing.arrow(axes, (x + 0.24, 0.76), (end, 2.12))
    return fig


def chain() -> Any:
    """Returns the drawing of a range's chain before its head is lost, right after, and when another is filled up."""
    fig, axes = drawing.canvas(3.3)
    xs = [1.3 + 1.2 * i for i in range(3)]
    rows = {
        "view 1": ("chain head", "chain tail", ""),
        "view 2": ("dead", "head and tail", "joins"),
        "view 3": ("", "chain head", "chain tail"),
    }
    for i, x in enumerate(xs):
        drawing.label(axes, x + BOX[0] / 2, 0.2, f"server {i}")
    for row, (name, roles) in enumerate(rows.items()):
        y = 0.55 + 0.98 * row
        drawing.label(axes, 0.05, y + BOX[1] / 2, name, "left", "bold")
        for i, (x, role) in enumerate(zip(xs, roles, strict=True)):
            if role == "dead":
                drawing.ghost(axes, x, y, *BOX)
            elif role == "joins":
                drawing.frame(axes, x, y, *BOX)
            elif role:
                drawing.box(axes, x, y, *BOX, RANGES[i])
            if role:
                drawing.label(axes, x + BOX[0] / 2, y + BOX[1] + 0.16, role)
        first = 0 if row == 0 else 1
        drawing.arrow(axes, (xs[first] + BOX[0] + 0.06, y + BOX[1] / 2), (xs[first + 1] - 0.06, y + BOX[1] / 2))
    return fig
