"""The marks in an SVG of Matplotlib's: lines, bars and spreads of a panel, and how its legend names them.

A legend repeats a mark as it looks, so a look (colour, dashes, marker) is what both are known by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Comment, Element

Look = tuple[str, ...]
Point = tuple[float, float]
_G, _PATH, _USE = (f"{{http://www.w3.org/2000/svg}}{name}" for name in ("g", "path", "use"))
_HREF = "{http://www.w3.org/1999/xlink}href"
_VERTEX = re.compile(r"[ML] ([\d.eE+-]+) ([\d.eE+-]+)")


@dataclass(frozen=True)
class Line:
    """A line or a row of markers: how it looks, its colour, and its points within the frame."""

    look: Look
    colour: str
    points: tuple[Point, ...]
    marked: bool = False


@dataclass(frozen=True)
class Spread:
    """Bars of error: their colour, and the two ends of each by its place across."""

    colour: str
    ends: dict[float, Point]

    def holds(self, line: Line) -> bool:
        """Returns whether every point of a line lies between ends, and no other place has any."""
        places = {round(x, 2): y for x, y in line.points}
        if places.keys() != self.ends.keys():
            return False
        return all(min(self.ends[x]) - 0.01 <= y <= max(self.ends[x]) + 0.01 for x, y in places.items())


@dataclass(frozen=True)
class Bar:
    """A bar: how it looks, the corner at which it begins, and the one opposite."""

    look: Look
    begin: Point
    end: Point


def children(parent: Element, prefix: str, deep: bool = False) -> Iterator[Element]:
    """Yields the groups whose id begins so: a parent's own, or all below it."""
    for each in parent.iter(_G) if deep else parent:
        if each.tag == _G and (each.get("id") or "").startswith(prefix):
            yield each


def words(group: Element) -> str:
    """Returns what a group of text says; of a formula, whose letters stand apart, its source."""
    source = next((each.text for each in group if each.tag is Comment), None)
    return " ".join((source or "".join(group.itertext())).split())


def _style(element: Element) -> dict[str, str]:
    pairs = (each.partition(":") for each in element.get("style", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def vertices(path: Element) -> list[Point]:
    """Returns the corners of a path."""
    return [(float(x), float(y)) for x, y in _VERTEX.findall(path.get("d", ""))]


def _line(group: Element) -> Line | None:
    """Returns a line as it is drawn, or as a legend repeats it: a path, markers, or both."""
    path = next((each for each in group if each.tag == _PATH), None)
    marks = list(group.iter(_USE))
    if path is None and not marks:
        return None
    style = {} if path is None else _style(path)
    mark = _style(marks[0]) if marks else {}
    colour = style.get("stroke", mark.get("stroke", ""))
    look = (colour, style.get("stroke-dasharray", ""), marks[0].get(_HREF, "") if marks else "", mark.get("fill", ""))
    points = [(float(m.get("x", 0)), float(m.get("y", 0))) for m in marks] or vertices(path)  # type: ignore[arg-type]
    return Line(look, colour, tuple(points), bool(marks))


def frame(axes: Element) -> tuple[Point, Point]:
    """Returns the upper left and the lower right corner of a panel's frame."""
    path = next(each for each in next(children(axes, "patch_")) if each.tag == _PATH)
    across, up = zip(*vertices(path), strict=True)
    return (min(across), min(up)), (max(across), max(up))


def lines(axes: Element) -> Iterator[Line]:
    """Yields a panel's lines, each with its points within the frame."""
    (left, top), (right, bottom) = frame(axes)
    reach = 0.5  # points: half a line is drawn beyond the frame
    for group in children(axes, "line2d_"):
        line = _line(group)
        if line is None:
            continue
        inside = [
            (x, y) for x, y in line.points if left - reach <= x <= right + reach and top - reach <= y <= bottom + reach
        ]
        if inside:
            yield replace(line, points=tuple(inside))


def bars(axes: Element) -> Iterator[Bar]:
    """Yields a panel's bars: full rectangles that its frame clips."""
    for group in children(axes, "patch_"):
        for path in (each for each in group if each.tag == _PATH and each.get("clip-path")):
            corners = vertices(path)
            if len(corners) == 4 and "C" not in path.get("d", ""):
                yield Bar(_filled(path), corners[0], corners[2])


def _filled(path: Element) -> Look:
    style = _style(path)
    return style.get("fill", ""), style.get("opacity", "")


def spreads(axes: Element) -> Iterator[Spread]:
    """Yields a panel's rows of bars of error, upright lines of one colour."""
    for group in children(axes, "LineCollection_"):
        paths = [each for each in group if each.tag == _PATH]
        ends = [vertices(path) for path in paths]
        if ends and all(len(each) == 2 and abs(each[0][0] - each[1][0]) < 0.01 for each in ends):
            yield Spread(_style(paths[0]).get("stroke", ""), {round(a[0], 2): (a[1], b[1]) for a, b in ends})


def legend(root: Element) -> dict[Look, str]:
    """Returns the names that legends below an element give to looks."""
    names: dict[Look, str] = {}
    for box in children(root, "legend_", deep=True):
        waiting: list[Look] = []
        for group in box:
            kind = (group.get("id") or "").partition("_")[0]
            if kind == "text":
                names |= dict.fromkeys(waiting, words(group))
                waiting = []
            elif kind == "line2d" and (line := _line(group)):
                waiting.append(line.look)
            elif kind == "patch":
                waiting += [_filled(path) for path in group if path.tag == _PATH]
    return names
