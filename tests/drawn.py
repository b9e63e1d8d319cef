"""What can be wrong with a drawing, in any language, found without looking at it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from booktools.show.catalogue import Catalogue
from booktools.show.render import themed_svg
from dlperf.palette import COLORS, INK
from dlperf.records import svg

AIR = 2.0
"""Pixels at 100 an inch that two labels keep between them."""
HAN = 1.0
LATIN = 0.6
"""How wide a Han character and any other is, in units of the font's size."""


def faults(figure: Any, labels: Catalogue) -> list[str]:
    """Returns what is wrong with a drawing whose labels are translated by ``labels``: a line for each fault."""
    boxes = [(text, extent(text, labels.translate)) for text in texts(figure)]
    found = [f"{a.get_text()!r} lies on {b.get_text()!r}" for (a, x), (b, y) in combinations(boxes, 2) if touch(x, y)]
    found += [f"{text.get_text()!r} leaves the canvas" for text, box in boxes if not inside(box, figure.bbox)]
    drawn = list(outlines(figure))
    found += [f"a line runs through {text.get_text()!r}" for text, box in boxes if any(cuts(x, box) for x in drawn)]
    made = svg(figure)
    found += [f"{color} is no colour of the palette" for color in sorted(colors(made) - PALETTE)]
    themed_svg(made, labels)
    found += [f"{text!r} has no translation" for text in labels.missing]
    labels.missing.clear()
    return found


PALETTE = {color.lower() for color in (INK, *COLORS)}


def colors(made: str) -> set[str]:
    """Returns the colours in which an SVG fills and strokes."""
    return set(re.findall(r"(?:fill|stroke): *(#[0-9a-f]+)", made.lower()))


def texts(figure: Any) -> list[Text]:
    """Returns the labels of a drawing."""
    return [text for text in figure.findobj(Text) if text.get_text()]


def extent(text: Text, translate: Callable[[str], str]) -> Bbox:
    """Returns where a label is, in pixels; where it is translated, by an estimate of how wide it becomes."""
    box = text.get_window_extent()
    said = translate(text.get_text())
    if said == text.get_text():
        return box
    em = text.get_fontsize() * text.figure.dpi / 72
    width = em * sum(HAN if unicodedata.east_asian_width(sign) in "WF" else LATIN for sign in said)
    share = {"left": 0.0, "center": 0.5, "right": 1.0}[text.get_horizontalalignment()]
    start = box.x0 + share * (box.width - width)
    return Bbox.from_extents(start, box.y0, start + width, box.y1)


def touch(a: Bbox, b: Bbox) -> bool:
    """Returns whether two labels lie on one another, or nearly."""
    return Bbox.intersection(a.padded(AIR / 2), b.padded(AIR / 2)) is not None


def inside(box: Bbox, canvas: Bbox) -> bool:
    """Returns whether a label is on the canvas, to within a pixel."""
    (x0, y0), (x1, y1) = box.padded(-1).get_points()
    return bool(canvas.x0 <= x0 and canvas.y0 <= y0 and x1 <= canvas.x1 and y1 <= canvas.y1)


def outlines(figure: Any) -> Iterator[np.ndarray]:
    """Yields points, at most a pixel apart, of each line and outline, in pixels."""
    for axes in figure.axes:
        for artist in (*axes.lines, *axes.patches):
            path = artist.get_transform().transform_path(artist.get_path())
            for corners in path.to_polygons(closed_only=False):
                yield np.concatenate([_between(a, b) for a, b in pairwise(corners)])


def _between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    steps = int(np.ceil(np.abs(b - a).max())) + 1
    return a + np.linspace(0, 1, steps + 1)[:, None] * (b - a)


def cuts(points: np.ndarray, box: Bbox) -> bool:
    """Returns whether any of these points lies within a label, more than a pixel from its edge."""
    x, y = points.T
    return bool(np.any((x > box.x0 + 1) & (x < box.x1 - 1) & (y > box.y0 + 1) & (y < box.y1 - 1)))
