"""The axes of a figure of Matplotlib's: what a place in the SVG stands for, told by the labels of ticks.

Places have six decimals of a point, and the labels of ticks say what they stand for, on linear and logarithmic axes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from xml.etree.ElementTree import Element

from booktools.figure_marks import children, words

NEAR = 0.02
"""Points: places that are no further apart are one."""
_RESOLUTION = 4e-6
"""Points: places are written to a millionth, and a value is told from three of them."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_NUMBER = re.compile(rf"([-−]?[\d,]*\.?\d+) ?({'|'.join(_UNITS)})")
_POWER = re.compile(r"\$\\mathdefault\{(?:(-?[\d.]+)\\times)?10\^\{(-?\d+)\}\}\$")
_OFFSET = re.compile(r"[+−-]?1e[+−-]?\d|[+−×]|\$")


class UnreadableError(ValueError):
    """A figure shows what cannot be read back for certain."""


@dataclass(frozen=True)
class Axis:
    """An axis: its name, its labels by their places in points, and what a place stands for, unless labels are words."""

    name: str
    ticks: tuple[tuple[float, str], ...]
    value: Callable[[float], float] | None

    def at(self, place: float) -> str:
        """Returns what stands at a place: a number, or the word of the tick there."""
        if self.value is not None:
            return number(self.value(place))
        return dict(self.ticks)[self.nearest(place, NEAR)]

    def nearest(self, place: float, most: float = math.inf) -> float:
        """Returns the tick nearest to a place; UnreadableError where another is as near, or it is too far away."""
        places = sorted(each for each, _ in self.ticks)
        gaps = [after - before for before, after in pairwise(places)]
        found = min(places, key=lambda tick: abs(tick - place))
        if abs(found - place) > min([most, *(0.48 * gap for gap in gaps)]):
            raise UnreadableError("a mark stands at no tick")
        return found


def axis(group: Element, along: str) -> Axis:
    """Returns an axis; UnreadableError where its labels tell no scale."""
    others = [words(each) for each in children(group, "text_")]
    if len(others) > 1 or any(_OFFSET.match(each) for each in others):
        raise UnreadableError("an offset stands at the axis")
    ticks = []
    for tick in (each for each in group if re.match(r"[xy]tick_", each.get("id") or "")):
        mark = next((each for each in tick.iter() if each.get(along) and each.tag.endswith("use")), None)
        label = next((words(each) for each in children(tick, "text_")), "")
        if mark is not None and label:
            ticks.append((float(mark.get(along, "")), label))
    numbers = [_number(label) for _, label in ticks]
    named = not any(each is not None for each in numbers)
    if not ticks or (None in numbers and not named):
        raise UnreadableError("labels of ticks that are no numbers, or none")
    fewest = 2 if all(_POWER.fullmatch(label) for _, label in ticks) else 3
    value = None if named else _scale([at for at, _ in ticks], [each for each in numbers if each is not None], fewest)
    return Axis(others[0] if others else "", tuple(ticks), value)


def _number(label: str) -> float | None:
    if power := _POWER.fullmatch(label):
        return float(power[1] or 1) * 10.0 ** int(power[2])
    found = _NUMBER.fullmatch(label)
    return float(found[1].replace("−", "-").replace(",", "")) * _UNITS[found[2]] if found else None


def _scale(places: list[float], numbers: list[float], fewest: int) -> Callable[[float], float]:
    """Returns what places stand for: linear or logarithmic, whichever the ticks obey.

    Two ticks obey both, so ``fewest`` is 3, unless they are powers of ten, which Matplotlib writes on logarithmic axes.
    """
    if len(numbers) > 2 and (line := _straight(places, numbers)):
        return line
    if len(numbers) >= fewest and min(numbers) > 0 and (power := _straight(places, list(map(math.log10, numbers)))):
        return lambda place: 10 ** power(place)
    raise UnreadableError("ticks of no scale that is known")


def _straight(places: list[float], values: list[float]) -> Callable[[float], float] | None:
    """Returns the line through the outermost ticks, if all others lie on it; rounded to what the drawing resolves."""
    ends = sorted(zip(places, values, strict=True))
    (p, v), (q, w) = ends[0], ends[-1]
    if p == q or v == w:
        return None
    slope = (w - v) / (q - p)
    close = all(abs(v + slope * (place - p) - value) < NEAR * abs(slope) for place, value in ends)
    decimals = math.floor(-math.log10(_RESOLUTION * abs(slope)))
    return (lambda at: round(v + slope * (at - p), decimals)) if close else None


def number(value: float) -> str:
    """Returns a value with four digits; very large and small ones as powers of ten."""
    if value and not 1e-4 <= abs(value) < 1e6:
        digits, power = f"{value:.3e}".split("e")
        return f"{float(digits):g} × 10{str(int(power)).translate(_RAISED)}"
    return f"{float(f'{value:.4g}'):.10g}"
