"""The drawing of who holds what: parameters, gradients and the optimizer's state, whole and sharded."""

from __future__ import annotations

from typing import Any

from dlperf import drawing
from dlperf.palette import COLORS

PARTS = {"parameters": COLORS[0], "gradients": COLORS[5], "optimizer state": COLORS[2]}
"""What a device holds, and the colour of each."""


def sharded(devices: int = 4, state: int = 2) -> Any:
    """Returns the drawing of what each device holds under DDP and the three stages of ZeRO.

    The optimizer keeps ``state`` numbers for each parameter; what is sharded is cut into a strip for each device.
    """
    ways = ("DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3")
    left, top, height, gap = 0.95, 0.42, 0.52, 0.2
    pitch = (drawing.WIDTH - left) / devices
    unit = (pitch - 0.16) / (2 + state)
    widths = (unit, unit, state * unit)
    fig, axes = drawing.canvas(top + len(ways) * (height + gap) + 0.3)
    drawing.label(axes, 0, 0.18, "device", "left")
    for device in range(devices):
        drawing.label(axes, left + pitch * device + (pitch - 0.16) / 2, 0.18, str(device))
    for row, way in enumerate(ways):
        y = top + row * (height + gap)
        drawing.label(axes, 0, y + height / 2, way, "left")
        for device in range(devices):
            x = left + pitch * device
            for n, (width, color) in enumerate(zip(widths, PARTS.values(), strict=True)):
                if n + row >= len(PARTS):  # the last is sharded first
                    strip = height / devices
                    _outline(axes, x, y, width, height)
                    drawing.strong_box(axes, x, y + strip * device, width, strip, color)
                else:
                    drawing.box(axes, x, y, width, height, color)
                x += width
    at = left
    below = top + len(ways) * (height + gap) + 0.05
    for (name, color), wide in zip(PARTS.items(), (1.2, 1.1, 1.4), strict=True):
        drawing.strong_box(axes, at - 0.95, below, 0.14, 0.14, color)
        drawing.label(axes, at - 0.75, below + 0.07, name, "left")
        at += wide + 0.25
    return fig


def _outline(axes: Any, x: float, y: float, width: float, height: float) -> None:
    """Draws faint dashed edges around what others hold."""
    right, bottom = x + width, y + height
    for start, end in (((x, y), (right, y)), ((x, bottom), (right, bottom)), ((right, y), (right, bottom))):
        drawing.guide(axes, start, end)
    drawing.guide(axes, (x, y), (x, bottom))
