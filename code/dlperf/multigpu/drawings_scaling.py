"""The drawing of a step on one device, and on two that share its batch: as large a whole, and as large a share.

The chapter *Training on multiple GPUs, from scratch* shows it.
"""

from __future__ import annotations

from typing import Any

from dlperf import drawing
from dlperf.drawing import Lane
from dlperf.palette import COLORS

FIXED, WORKS, SENDS = COLORS[2], COLORS[0], COLORS[3]
"""What a step takes however small its batch, what grows with the batch, and what goes over a link."""


def scaling(fixed: float = 0.5, work: float = 4.0, send: float = 0.8) -> Any:
    """Returns the drawing of strong and of weak scaling, each below the step on one device."""
    fig, axes = drawing.canvas(3.5)
    left = 1.35
    scale = (drawing.WIDTH - left - 0.05) / (fixed + work + send)
    rows = {"one device": (1, work, 0.0), "same batch": (2, work / 2, send), "same share": (2, work, send)}
    top = 0.2
    for title, (devices, share, sending) in rows.items():
        drawing.label(axes, 0, top, title, "left", "bold")
        for device in range(devices):
            lane = Lane(axes, top + 0.16 + 0.32 * device, left, scale)
            lane.name(f"device {device + 1}")
            lane.strong((0, fixed), FIXED)
            lane.block((fixed, fixed + share), WORKS)
            if sending:
                lane.block((fixed + share, fixed + share + sending), SENDS)
        top += 0.32 * devices + 0.5
    base = top + 0.02
    drawing.strong_box(axes, 0.35, base - 0.12, 0.25, 0.24, FIXED)
    for x, color in ((1.75, WORKS), (3.15, SENDS)):
        drawing.box(axes, x, base - 0.12, 0.25, 0.24, color)
    for x, name in ((0.35, "fixed"), (1.75, "share"), (3.15, "exchange")):
        drawing.label(axes, x + 0.35, base, name, "left")
    return fig
