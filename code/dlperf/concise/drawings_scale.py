"""The drawing of what a step sends, by data, sharded, and by tensor times data.

The chapter *Multiple GPUs, concisely* shows it.
"""

from __future__ import annotations

from typing import Any

from dlperf import drawing
from dlperf.drawing import Lane
from dlperf.palette import COLORS

WORKS, SENDS, WITHIN = COLORS[0], COLORS[3], COLORS[2]
"""What computes, what goes between nodes, and what goes within one."""


def ways(layers: int = 3) -> Any:
    """Returns the drawing: forward passes, then backward passes; below, what goes over links meanwhile."""
    fig, axes = drawing.canvas(3.3)
    left, part = 1.05, 1.0
    scale = (drawing.WIDTH - left - 0.05) / (2 * layers * part + 1.2)
    for row, title in enumerate(("data", "sharded", "tensor × data")):
        top = 0.1 + 0.92 * row
        drawing.label(axes, 0, top + 0.02, title, "left", "bold")
        above, below = (Lane(axes, top + y, left, scale) for y in (0.16, 0.46))
        above.name("computing")
        below.name("link")
        gap = 0.2 if title == "tensor × data" else 0.0
        for n in range(2 * layers):
            start, end = n * part, (n + 1) * part
            above.block((start, end - gap), WORKS)
            if title == "sharded":  # weights come before each pass
                below.block((start, start + 0.45), SENDS)
            if gap:  # activations, for which all wait
                below.strong((end - gap, end), WITHIN)
            if n >= layers:  # gradients go
                late = start + 0.5 if title == "sharded" else end
                below.block((late, late + 0.45), SENDS)
    base = 3.1
    drawing.box(axes, 0.6, base - 0.12, 0.25, 0.24, SENDS)
    drawing.strong_box(axes, 2.6, base - 0.12, 0.25, 0.24, WITHIN)
    for x, name in ((0.6, "between nodes"), (2.6, "within a node")):
        drawing.label(axes, x + 0.35, base, name, "left")
    return fig
