"""The drawings of the section on the batch: steps and work with more devices, and whose statistics normalise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dlperf import drawing
from dlperf.palette import COLORS

WORKS, SHARED = COLORS[0], COLORS[2]
"""What computes, and what all devices know together."""


def steps(devices: Sequence[int] = (1, 4, 16), critical: int = 4, least: int = 4) -> Any:
    """Returns the drawing of steps to one loss: devices upwards, time to the right, so that areas are work.

    A device takes one part of the batch; at ``critical`` parts the batch is critical, and no batch needs fewer
    than ``least`` steps.
    """
    thick, gap, left = 0.06, 0.3, 1.15
    fig, axes = drawing.canvas(sum(thick * k + gap for k in devices) + 0.25)
    wide = (drawing.WIDTH - left - 0.05) / (least * (1 + critical / devices[0]))
    top = 0.05
    for k in devices:
        height = max(thick * k, 0.06)
        drawing.label(axes, 0, top + height / 2 + 0.02, f"{k} devices" if k > 1 else "1 device", "left")
        for n in range(round(least * (1 + critical / k))):
            drawing.box(axes, left + n * wide, top, 0.85 * wide, height, WORKS)
        top += thick * k + gap
    drawing.arrow(axes, (left, top), (drawing.WIDTH - 0.05, top))
    drawing.label(axes, 0, top, "time", "left")
    return fig


def statistics(devices: int = 3) -> Any:
    """Returns the drawing of batch norm on several devices: each by its own statistics, and all by those of all."""
    fig, axes = drawing.canvas(2.6)
    wide, left = 0.95, 1.1
    for top, title in ((0.1, "each its own"), (1.45, "synchronised")):
        drawing.label(axes, 0, top, title, "left", "bold")
        drawing.label(axes, 0, top + 0.42, "share", "left")
        drawing.label(axes, 0, top + 0.95, "statistics", "left")
        for i in range(devices):
            x = left + i * (wide + 0.25)
            drawing.box(axes, x, top + 0.28, wide, 0.28, WORKS, f"{i}")
            drawing.arrow(axes, (x + wide / 2, top + 0.56), (x + wide / 2, top + 0.81))
            if top < 1:
                drawing.box(axes, x, top + 0.81, wide, 0.28, WORKS, f"{i}")
        if top > 1:
            drawing.box(axes, left, top + 0.81, devices * wide + (devices - 1) * 0.25, 0.28, SHARED, "all")
    return fig
