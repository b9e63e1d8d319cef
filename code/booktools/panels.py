"""The panels of a figure, one below the other where the window is narrow.

Matplotlib draws panels side by side into one SVG. Narrow, each panel is shown by an SVG of its own, which *uses* the
drawing and has a view of that panel alone; nothing is drawn twice, and labels are twice as large.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

NARROWEST = 400
"""Points: a drawing that is no wider is legible as it is."""
LEGIBLE = 11.1
"""So many px at least are the smallest letters, on the narrowest phone too; what is wider than that scrolls."""
_AXES = re.compile(r'<g id="axes_\d+">\s*<g id="patch_\d+">\s*<path d="M ([\d.-]+) [\d.-]+ \s*L ([\d.-]+) ', re.S)
_TEXT = re.compile(
    r'<text style="[^"]*?font(?:-size)?: (?P<size>[\d.]+)px[^"]*?(?:text-anchor: (?P<anchor>\w+))?"'
    r'[^>]*?(?: x="(?P<x>[\d.-]+)"[^>]*?)?'
    r' transform="(?:translate\((?P<moved>[\d.-]+) [\d.-]+\) )?rotate\((?P<angle>[\d.-]+)[^>]*>(?P<words>[^<]*)'
)


class Panel(NamedTuple):
    """A panel's place in its drawing, in points from the left."""

    left: float
    right: float


def panels(svg: str) -> list[Panel]:
    """Returns the panels of a drawing of Matplotlib's that stand side by side; none where there are no two.

    A panel ends where the words of the next one begin: numbers at its axis, and the axis's name.
    """
    found = re.search(r'viewBox="0 0 ([\d.]+) [\d.]+"', svg)
    if found is None or float(found[1]) <= NARROWEST:
        return []
    columns: dict[float, tuple[float, float]] = {}  # by its left edge: its right edge, and where its words begin
    starts = list(_AXES.finditer(svg))
    for axes, until in pairwise([*starts, None]):
        assert axes is not None
        left, right = sorted((float(axes[1]), float(axes[2])))
        words = svg[axes.end() : until.start() if until else len(svg)]
        begin = min([left, *map(_left, _TEXT.finditer(words))])
        known = columns.get(left, (right, begin))
        columns[left] = max(known[0], right), min(known[1], begin)
    ordered = [columns[left] for left in sorted(columns)]
    if len(ordered) < 2 or any(right > begin for (right, _), (_, begin) in pairwise(ordered)):
        return []
    edges = [0.0, *((right + begin) / 2 for (right, _), (_, begin) in pairwise(ordered)), float(found[1])]
    return [Panel(*each) for each in pairwise(edges)]


def _left(text: re.Match[str]) -> float:
    """Returns about where a text begins; a glyph is taken to be six tenths of its size wide."""
    size, x = float(text["size"]), float(text["x"] or text["moved"] or 0)
    if abs(float(text["angle"])) > 45:
        return x - size
    wide = 0.6 * size * len(text["words"])
    return x - {"end": wide, "middle": wide / 2}.get(text["anchor"] or "", 0.0)


def stacked(svg: str, drawing: str, views: list[Panel], smallest: float) -> str:
    """Returns SVGs that show these views of the drawing with the id ``drawing``, for readers of narrow windows.

    Its ``smallest`` letters are of so many points.
    """
    if not views:
        return ""
    height = re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', svg)
    assert height is not None
    shown = (
        f'<svg viewBox="{view.left:.1f} 0 {(wide := view.right - view.left):.1f} {height[1]}" '
        f'style="min-width:{wide * LEGIBLE / smallest:.0f}px"><use href="#{drawing}"/></svg>'
        for view in views
    )
    return f'<div class="dl-stack" aria-hidden="true">{"".join(shown)}</div>'
