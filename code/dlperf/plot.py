"""The book's figures: one look, colours that both themes and colour-blind readers can tell apart."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from cycler import cycler

from dlperf.measurement import Measurement
from dlperf.palette import COLORS as COLORS
from dlperf.palette import INK as INK

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dlperf",
    "axes.prop_cycle": cycler(color=COLORS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#808080",
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "font.size": 11,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "figure.constrained_layout.use": True,
}


def figure(width: float = 7.0, height: float = 3.4, columns: int = 1, rows: int = 1, **options: Any) -> Any:
    """Returns ``(figure, axes)`` in the book's style; sizes are in inches on paper, scaled on screen.

    Labels are plain English and short: each is translated when a page is rendered.
    """
    mpl.rcParams.update(_STYLE)
    return plt.subplots(rows, columns, figsize=(width, height), **options)


def points(
    axes: Any, x: Sequence[float], measurements: Sequence[Measurement], scale: float = 1.0, **options: Any
) -> None:
    """Draws the median of each measurement at its ``x``, with a bar over its interquartile range.

    The axis counts in a unit of which the measurements' has ``scale``: 1e3 for ms where they are in s.
    ``options`` go to matplotlib's ``errorbar``, such as ``label`` and ``color``.
    """
    medians = [scale * m.median for m in measurements]
    below = [scale * (m.median - m.quartiles[0]) for m in measurements]
    above = [scale * (m.quartiles[1] - m.median) for m in measurements]
    axes.errorbar(x, medians, yerr=(below, above), **{"fmt": "o", "markersize": 5, "elinewidth": 1.5, **options})


class Name(str):
    """What a machine calls a part of itself, such as ``ext4`` or ``/dev/nvme0n1``: a name in every language."""


@dataclass(frozen=True)
class Table:
    """Rows under heads, shown as an HTML table. Heads and string cells are translated; numbers and `Name`s are not."""

    heads: Sequence[str]
    rows: Iterable[Sequence[object]]

    def _repr_html_(self) -> str:
        def line(cells: Iterable[object], tag: str) -> str:
            return "<tr>" + "".join(cell(each, tag) for each in cells) + "</tr>"

        def cell(content: object, tag: str) -> str:
            mark = ' translate="no"' if isinstance(content, Name) else ""
            return f"<{tag}{mark}>{html.escape(str(content))}</{tag}>"

        body = "".join(line(row, "td") for row in self.rows)
        return f'<table class="dl-table"><thead>{line(self.heads, "th")}</thead><tbody>{body}</tbody></table>'
