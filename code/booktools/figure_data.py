"""What a figure of Matplotlib's shows, read back from its SVG: the points of its lines and the lengths of its bars.

Values come back with four digits, or as many as the drawing resolves. A figure that cannot be read for certain has no
table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from booktools.figure_axes import NEAR, Axis, UnreadableError, axis, number
from booktools.figure_marks import Bar, Line, Look, Spread, bars, children, frame, legend, lines, spreads, words

Names = dict[Look, str]
"""What the legend calls each look."""
Columns = list[tuple[str, dict[tuple[float, str], str]]]
"""A name, and what stands in each row, which is known by its place and its label."""
MOST_ROWS = 60
"""A longer table tells nobody more than its drawing."""
_BESIDE = 12
"""Points: marks that hide one another are drawn so far beside the tick that they belong to."""


@dataclass(frozen=True)
class Data:
    """What one panel shows: its title, heads (the first names the rows), and rows of words and numbers."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read(svg: str) -> list[Data]:
    """Returns the data of each panel of a figure, as its labels name them; nothing where any of it is uncertain."""
    builder = ElementTree.TreeBuilder(insert_comments=True)
    root = ElementTree.fromstring(svg, ElementTree.XMLParser(target=builder))
    names = legend(root)
    try:
        return [_panel(axes, legend(axes) or names) for axes in children(root, "axes_", deep=True)]
    except UnreadableError:
        return []


def _panel(axes: ElementTree.Element, names: Names) -> Data:
    found = list(children(axes, "matplotlib.axis_"))
    if len(found) != 2:
        raise UnreadableError("a drawing, not a plot")
    x, y = axis(found[0], "x"), axis(found[1], "y")
    drawn, blocks = list(_worth(lines(axes), names)), list(bars(axes))
    if bool(drawn) == bool(blocks):
        raise UnreadableError("lines and bars on one panel, or neither")
    columns = _bar_columns(blocks, x, y, names) if blocks else _line_columns(drawn, x, y, names, list(spreads(axes)))
    places = sorted({place for _, cells in columns for place in cells})
    if len(places) > MOST_ROWS:
        raise UnreadableError("too many rows")
    rows_of, values_of = (y, x) if blocks and _lie(blocks, x, y) else (x, y)
    rows = tuple((label, *(cells.get((at, label), "") for _, cells in columns)) for at, label in places)
    title = next((words(each) for each in children(axes, "text_") if _above(each, frame(axes)[0][1])), "")
    heads = [name or values_of.name for name, _ in columns]
    if len(columns) > 1 and not title:
        title = values_of.name
    if any("$" in text for text in (title, rows_of.name, *heads)):
        raise UnreadableError("a formula in a name")
    return Data(title, (rows_of.name, *heads), rows)


def _above(text: ElementTree.Element, top: float) -> bool:
    """Returns whether a text stands over the panel, as its title does."""
    return any(float(each.get("y") or "inf") < top for each in text)


def _worth(drawn: Iterator[Line], names: Names) -> Iterator[Line]:
    """Yields the lines that show data; a guide has two ends and no name, or stands upright."""
    for line in drawn:
        upright = len({round(x, 2) for x, _ in line.points}) == 1 and len(line.points) > 1
        if not upright and (line.look in names or len(line.points) > 2):
            yield line


def _line_columns(drawn: list[Line], x: Axis, y: Axis, names: Names, around: list[Spread]) -> Columns:
    if y.value is None or (len(drawn) > 1 and any(line.look not in names for line in drawn)):
        raise UnreadableError("lines without names or numbers")
    columns: Columns = []
    owned, beside = _owned(drawn, around), _beside([across for line in drawn for across, _ in line.points], x)
    for line in drawn:
        cells: dict[tuple[float, str], str] = {}
        for across, up in line.points:
            said = number(y.value(up))
            if ends := owned.get(id(line), {}).get(round(across, 2)):
                low, high = sorted(map(y.value, ends))
                said += f" ({number(low)}–{number(high)})"
            _put(cells, _tick(across, x) if beside else (round(across, 2), x.at(across)), said)
        columns.append((names.get(line.look, ""), cells))
    return columns


def _beside(places: list[float], x: Axis) -> bool:
    """Returns whether marks stand beside ticks, some of them not on it."""
    away = [min(abs(place - tick) for tick, _ in x.ticks) for place in places]
    return NEAR < max(away) < _BESIDE


def _tick(place: float, axis: Axis) -> tuple[float, str]:
    """Returns the tick that a mark stands at or beside."""
    at = axis.nearest(place)
    return at, axis.at(at)


def _owned(drawn: list[Line], around: list[Spread]) -> dict[int, dict[float, tuple[float, float]]]:
    """Returns the spread of each line that has one: of its colour, around each of its markers."""
    owned = {}
    for spread in around:
        fitting = [line for line in drawn if line.marked and line.colour == spread.colour and spread.holds(line)]
        if len(fitting) != 1 or id(fitting[0]) in owned:
            raise UnreadableError("a spread that belongs to no line for certain")
        owned[id(fitting[0])] = spread.ends
    return owned


def _lie(blocks: list[Bar], x: Axis, y: Axis) -> bool:
    """Returns whether bars lie: their rows stand at the y axis. UnreadableError where neither axis has words."""
    if (x.value is None) == (y.value is None):
        raise UnreadableError("bars without names")
    return y.value is None


def _bar_columns(blocks: list[Bar], x: Axis, y: Axis, names: Names) -> Columns:
    lie = _lie(blocks, x, y)
    rows, scale = (y, x.value) if lie else (x, y.value)
    looks = list(dict.fromkeys(each.look for each in blocks))
    if scale is None or (len(looks) > 1 and any(look not in names for look in looks)):
        raise UnreadableError("bars without names or numbers")
    columns: Columns = [(names.get(look, ""), {}) for look in looks]
    for each in blocks:
        (left, bottom), (right, top) = each.begin, each.end
        tick = _tick((bottom + top) / 2 if lie else (left + right) / 2, rows)
        begin, end = (left, right) if lie else (bottom, top)
        _put(columns[looks.index(each.look)][1], tick, number(scale(end) - scale(begin)))
    return columns


def _put(cells: dict[tuple[float, str], str], place: tuple[float, str], said: str) -> None:
    if place in cells:
        raise UnreadableError("two values in one place")
    cells[place] = said
