"""Format a measurement for readers: with its spread where it is wide, both modes where there are two.

Prose ({glue:text}) and tables ({machines}, {here}, {recorded}) say it alike, of whichever machine's record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from dlperf.measurement import FEW, WIDE_SPREAD, Measurement, format_quantity, scaled
from dlperf.ratio import Ratio

SAID_SPREAD = 0.1
"""Interquartile range over median from which prose gives the spread unasked."""

Say = Callable[[str], str]


AS_FAST = 0.995
"""The speed from which two decimals say one."""


@dataclass(frozen=True)
class Words:
    """What a page shows of a record: the value, a mark beside it or nothing, and what appears over it."""

    value: str
    mark: str
    title: str


def words(m: Measurement, say: Say, form: str = "", percent: bool = False) -> Words:
    """Returns a measurement in words: ``1.06 ms``, ``46 ± 4 µs``, ``4.4 or 14.9 ms``, or the range of a few samples.

    The number after ± is half the interquartile range. ``form`` is a format for each number, ``percent`` asks
    for the percentage of a pure number; ``say`` gives the book's own words in the page's language.
    """
    title = " · ".join(
        [
            f"{say('median')} {m}",
            f"{say('interquartile range')} {format_quantity(m.iqr, m.unit, 2)}",
            say(_counted(m)),
        ]
    )
    return Words(_value(m, say, form, percent), say(mark) if (mark := doubt(m)) else "", title)


def ratio_words(ratio: Ratio, say: Say, form: str = "", percent: bool = False) -> Words:
    """Returns a ratio of medians in words: one number, or a range with its mark where a side is no result.

    The range is that of the quotients which the sides' quartiles allow (their modes, or all of a few samples).
    """
    doubts = sorted({doubt(side) for side in ratio.sides} - {""})
    title = " / ".join(side.summary() for side in ratio.sides)
    stands = bool(ratio.because) or not doubts
    farthest = 1.0 if stands else math.prod(_farthest(side) for side in ratio.sides)
    ends = [float(ratio) / farthest, float(ratio) * farthest]
    if percent:
        shown = [f"{100 * end:.3g}" for end in ends]
    else:
        shown = [format(end, form) if form else format_quantity(end, "1") for end in ends]
    value = "–".join(dict.fromkeys(shown)) + (say("0 %").removeprefix("0") if percent else "")
    return Words(value if ends[0] else "–", "" if stands else say(doubts[0]), title)


def speed(value: Measurement | float) -> str:
    """Returns what has to be said of "n times as fast" below one: ``slower``; ``no clear difference``; or nothing.

    A measurement is slower where three samples of four are, and no clear difference where its quartiles lie about one.
    """
    low, high = value.quartiles if isinstance(value, Measurement) else (value, value)
    if low >= AS_FAST:
        return ""
    return "slower" if high < AS_FAST else "no clear difference"


def doubt(m: Measurement) -> str:
    """Returns why the median of a measurement is no result, or an empty string if it is one."""
    if len(m.samples) < FEW:
        return f"only {_counted(m)}"
    if len(m.modes()) > 1:
        return "two modes"
    return "wide spread" if m.iqr > WIDE_SPREAD * abs(m.median) else ""


def _counted(m: Measurement) -> str:
    return f"{len(m.samples)} sample{'s' * (len(m.samples) > 1)}"


def _farthest(side: Measurement) -> float:
    """Returns by what factor its quartiles, its modes or its few samples lie from the median; infinity across zero."""
    if len(side.samples) < FEW:
        ends = [min(side.samples), max(side.samples)]
    else:
        ends = [*side.quartiles, *(mode.median for mode in side.modes())]
    if min(ends) * max(ends) <= 0:
        return math.inf
    return max(max(end / side.median, side.median / end) for end in ends)


def _value(m: Measurement, say: Say, form: str, percent: bool) -> str:
    modes = m.modes()
    if len(m.samples) < FEW:
        shown = _together([min(m.samples), max(m.samples)], m, form, percent)
        return shown[0] + (f"–{shown[1]}" if shown[1] != shown[0] else "") + _unit(m, percent, say)
    if len(modes) > 1:
        low, high = _together([mode.median for mode in modes], modes[0], form, percent)
        return f"{low}{_joined('or', say)}{high}{_unit(modes[0], percent, say)}"
    if m.iqr > SAID_SPREAD * abs(m.median):
        half = m.iqr / 2 / _scale(m, percent)
        decimals = max(0, -math.floor(math.log10(half)))
        median = _together([m.median], m, form or f".{decimals}f", percent)[0]
        return f"{median} ± {_visible(half, len(median.partition('.')[2]))}{_unit(m, percent, say)}"
    if percent:
        return f"{100 * m.median:.3g}{_unit(m, percent, say)}"
    return format(m.median, form) if form else str(m)


def _together(values: list[float], m: Measurement, form: str, percent: bool) -> list[str]:
    """Returns values in the unit in which the median of ``m`` is read, with decimals enough to tell them apart."""
    values = [value / _scale(m, percent) for value in values]
    size = abs(m.median / _scale(m, percent)) or max(map(abs, values))
    decimals = max(0, m.digits - 1 - math.floor(math.log10(size))) if size else 2
    if asked := re.fullmatch(r"\.(\d+)f", form):
        decimals = int(asked[1])
    elif form:
        return [format(value, form) for value in values]
    shown = [f"{value:.{decimals}f}" for value in values]
    if len(set(shown)) < len(values) and max(values) - min(values) > SAID_SPREAD * size:
        return [f"{value:.{decimals + 1}f}" for value in values]
    return shown


def _visible(value: float, decimals: int) -> str:
    """Returns a spread with as many decimals, or with one digit where it would read as none."""
    shown = f"{value:.{decimals}f}"
    return shown if float(shown) or not value else f"{value:.{-math.floor(math.log10(value))}f}"


def _scale(m: Measurement, percent: bool) -> float:
    return 0.01 if percent else scaled(m.median, m.unit)[0]


def _unit(m: Measurement, percent: bool, say: Say) -> str:
    return say("0 %").removeprefix("0") if percent else scaled(m.median, m.unit)[1]


def _joined(word: str, say: Say) -> str:
    """Returns a word between two numbers: Chinese sets no spaces around it."""
    said = say(word)
    return f" {word} " if said == word else said
