"""Drawings: an idea as a picture, without axes and numbers, made of boxes, blocks on lanes, arrows and clocks.

Places are in inches from the upper left corner of the canvas, y downwards, as one reads. Labels are short plain
English, each translated when a page is rendered, so leave them air: another font is wider, another word longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from dlperf import plot
from dlperf.palette import INK
from dlperf.spans import Span

WIDTH = 4.7
"""Inches: so wide a drawing fills the column of a phone, and its labels are as large there as 11 px."""
LANE = 0.24
"""Inches: how high a block on a lane is."""
_FAINT, _TINT, _SOLID = 0.45, 0.22, 0.8
_ROUND = "round,pad=0,rounding_size=0.035"


def canvas(height: float, width: float = WIDTH) -> tuple[Any, Any]:
    """Returns ``(figure, axes)`` for a drawing of so many inches: no frame, no ticks, one unit an inch everywhere."""
    fig, axes = plot.figure(width, height, layout="none")
    axes.set(position=(0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return fig, axes


def label(axes: Any, x: float, y: float, text: str, align: str = "center", weight: str = "normal") -> None:
    """Writes one line at ``(x, y)``, which is its middle, or the ``left`` or ``right`` end of it."""
    axes.text(x, y, text, ha=align, va="center", color=INK, fontsize=11, weight=weight)


def box(axes: Any, x: float, y: float, width: float, height: float, color: str, text: str = "") -> None:
    """Draws a rounded box whose upper left corner is ``(x, y)``, tinted, with a label in its middle."""
    axes.add_patch(_block(x, y, width, height, color, _TINT))
    if text:
        label(axes, x + width / 2, y + height / 2, text)


def strong_box(axes: Any, x: float, y: float, width: float, height: float, color: str) -> None:
    """Draws a box that the eye finds first: full of its colour, and so without a label of its own."""
    axes.add_patch(_block(x, y, width, height, color, _SOLID))


def _block(x: float, y: float, width: float, height: float, color: str, full: float) -> FancyBboxPatch:
    return FancyBboxPatch((x, y), width, height, boxstyle=_ROUND, facecolor=(color, full), edgecolor=color, linewidth=1)


def ghost(axes: Any, x: float, y: float, width: float, height: float) -> None:
    """Draws a hatched block: time that is waited, or somebody who does nothing."""
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": INK, "hatch": "/////", "linewidth": 0, "alpha": 0.55}
    axes.add_patch(Rectangle((x, y), width, height, **look))


def frame(axes: Any, x: float, y: float, width: float, height: float) -> None:
    """Draws a dashed frame around what belongs together."""
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": INK, "linewidth": 1, "linestyle": "--", "alpha": _FAINT}
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.1", **look))


def token(axes: Any, x: float, y: float, color: str, radius: float = 0.1) -> None:
    """Draws a disc around ``(x, y)``: one request, one message."""
    axes.add_patch(Circle((x, y), radius, facecolor=(color, _SOLID), edgecolor=color, linewidth=1))


def arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], text: str = "") -> None:
    """Draws an arrow between two places, with a label above its middle."""
    _arrow(axes, start, end, "-|>")
    if text:
        label(axes, (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - 0.17, text)


def interval(axes: Any, start: float, end: float, y: float, text: str = "") -> None:
    """Draws a double arrow from ``start`` to ``end`` at the height ``y``: how long something is, named above it."""
    _arrow(axes, (start, y), (end, y), "<|-|>")
    for x in (start, end):
        line(axes, (x, y - 0.07), (x, y + 0.07))
    if text:
        label(axes, (start + end) / 2, y - 0.16, text)


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
    look: dict[str, Any] = {
        "color": INK,
        "linewidth": 1,
        "shrinkA": 0,
        "shrinkB": 0,
        "mutation_scale": 8,
        "joinstyle": "miter",
    }
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle=style, **look))


def line(axes: Any, start: tuple[float, float], end: tuple[float, float], style: str = "-", faint: float = 1) -> None:
    """Draws a thin line between two places."""
    axes.plot(*zip(start, end, strict=True), color=INK, linewidth=1, linestyle=style, alpha=faint)


def guide(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draws a faint dashed line, which leads the eye from one thing to another."""
    line(axes, start, end, "--", _FAINT)


def clock(axes: Any, x: float, top: float, bottom: float, text: str) -> None:
    """Draws a look at the clock at the moment ``x``: a dial at ``top``, its name above, and a line to ``bottom``."""
    axes.add_patch(Circle((x, top), 0.1, facecolor="none", edgecolor=INK, linewidth=1.2))
    for end in ((x, top - 0.07), (x + 0.05, top)):
        line(axes, (x, top), end)
    guide(axes, (x, top + 0.1), (x, bottom))
    label(axes, x, top - 0.24, text)


@dataclass(frozen=True)
class Lane:
    """Somebody's time, which runs to the right: the moment 0 is at ``left``, and a unit of time takes ``scale`` inches.

    ``y`` is the upper edge of its blocks.
    """

    axes: Any
    y: float
    left: float
    scale: float
    height: float = LANE

    @property
    def middle(self) -> float:
        """The height of its middle line."""
        return self.y + self.height / 2

    @property
    def bottom(self) -> float:
        """The lower edge of its blocks."""
        return self.y + self.height

    def at(self, moment: float) -> float:
        """Returns where a moment is, in inches."""
        return self.left + self.scale * moment

    def name(self, text: str) -> None:
        """Writes whose time it is, at the left edge of the canvas."""
        label(self.axes, 0, self.middle, text, "left")

    def block(self, span: Span, color: str, text: str = "") -> None:
        """Draws what is done during ``span``."""
        box(self.axes, *self._place(span), color, text)

    def strong(self, span: Span, color: str) -> None:
        """Draws what decides how long it takes."""
        strong_box(self.axes, *self._place(span), color)

    def wait(self, span: Span) -> None:
        """Draws that it waits during ``span``."""
        ghost(self.axes, *self._place(span))

    def _place(self, span: Span) -> tuple[float, float, float, float]:
        start, end = span
        return self.at(start), self.y, self.scale * (end - start), self.height
