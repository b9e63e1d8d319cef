"""What a reader may guess of a record: one of several answers, or a number on a scale; and what is wrong in a source.

The author says in which ranges the answers lie, or how far the scale goes. Which of them is right is nowhere written:
it follows from the record.
"""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from booktools.book import Book
from booktools.page import Page, found_on_pages
from booktools.records import Machine
from booktools.spread import ratio_words
from dlperf.measurement import FEW, Measurement

PERCENT = ".percent"
_OPTION = re.compile(r"^:([\w-]+):[ \t]*(.*)$")
_MANTISSAS = (1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3, 3.5, 4, 4.5, 5, 5.5, 6, 7, 8, 9)
"""Where a scale that is logarithmic can be stopped at, within each power of ten."""
NEAR = 1.05
"""A guess within this factor of what was measured, or a percentage within a point of it, is right."""


@dataclass(frozen=True)
class Question:
    """What may be guessed of the record ``key``, in its unit, or in percent.

    Either ``choices``, the first up to ``bounds[0]``, the next from there to ``bounds[1]``, and so on; or a number from
    ``scale[0]`` to ``scale[1]``.
    """

    key: str
    percent: bool = False
    choices: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    scale: tuple[float, float] | None = None

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """From where to where each choice goes; the first and the last are open."""
        ends = [-float("inf"), *self.bounds, float("inf")]
        return list(itertools.pairwise(ends))

    def stops(self, whole: bool) -> list[float]:
        """Returns the numbers that can be guessed, ascending: of a percentage each point, else evenly by their ratio.

        ``whole`` asks for whole numbers.
        """
        low, high = self.scale or (0, 100)
        if self.percent:
            return [float(point) for point in range(round(low), round(high) + 1)]
        found = (float(f"{mantissa}e{power}") for power in range(-12, 16) for mantissa in _MANTISSAS)
        return [stop for stop in found if low <= stop <= high and (not whole or stop == int(stop))]


def question(name: str, options: Mapping[str, str]) -> Question:
    """Returns the question that a directive asks of the record ``name``; ValueError says what is wrong with it."""
    key, percent = name.removesuffix(PERCENT), name.endswith(PERCENT)
    if "choices" in options and "scale" in options:
        raise ValueError("`:choices:` or `:scale:`, but not both: one of several answers is guessed, or a number")
    if "choices" in options:
        choices = tuple(choice.strip() for choice in options["choices"].split("|"))
        return Question(key, percent, choices, _bounds(choices, options.get("bounds", "")))
    if "bounds" in options:
        raise ValueError("`:bounds:` part choices, and there are none: `:choices: less | as much | more`")
    if "scale" in options:
        return Question(key, percent, scale=_scale(options["scale"], percent))
    if percent:
        return Question(key, percent, scale=(0, 100))
    raise ValueError("nothing to guess: `:choices:` with `:bounds:` would do, or `:scale: 1 100`")


def _bounds(choices: tuple[str, ...], text: str) -> tuple[float, ...]:
    if len(choices) < 2 or not all(choices):
        raise ValueError(f"fewer than two choices: {' | '.join(choices)!r}; `less | as much | more` would do")
    bounds = _numbers("bounds", text)
    if len(bounds) != len(choices) - 1:
        raise ValueError(
            f"{len(choices)} choices are parted by {len(choices) - 1} bounds, and here are {len(bounds)}: {text!r}"
        )
    for low, high in itertools.pairwise(bounds):
        if low >= high:
            raise ValueError(f"the ranges overlap: bounds ascend, and {low:g} stands before {high:g}")
    return bounds


def _scale(text: str, percent: bool) -> tuple[float, float]:
    ends = _numbers("scale", text)
    if len(ends) != 2 or ends[0] >= ends[1] or ends[0] < 0 or (not percent and ends[0] == 0):
        least = "0" if percent else "a number above zero"
        raise ValueError(f"a scale goes from {least} to a larger one, such as `:scale: 1 100`, and not {text!r}")
    return ends[0], ends[1]


def _numbers(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(map(float, text.split()))
    except ValueError:
        raise ValueError(f"`:{name}:` are numbers with spaces between them, and not {text!r}") from None


@dataclass(frozen=True)
class Answer:
    """What a machine measured: ``centres`` are its median, or those of both modes, and ``halves`` from where to where
    the middle half of each goes. In percent where the question asks for that.
    """

    machine: Machine
    centres: tuple[float, ...]
    halves: tuple[tuple[float, float], ...]

    @property
    def low(self) -> float:
        """The lower end of all."""
        return self.halves[0][0]

    @property
    def high(self) -> float:
        """The upper end of all."""
        return self.halves[-1][1]

    def right(self, question: Question) -> list[bool]:
        """Returns, for each choice, whether a part of what was measured lies in its range; between modes lies none."""
        return [any(low < b and a <= high for a, b in self.halves) for low, high in question.ranges]

    def near(self, question: Question) -> tuple[float, float]:
        """Returns from where to where a guess is right: within the middle half, or as near to a centre as `NEAR`."""
        if question.choices:
            return self.low, self.high
        if question.percent:
            return min(self.low, self.centres[0] - 1), max(self.high, self.centres[-1] + 1)
        return min(self.low, self.centres[0] / NEAR), max(self.high, self.centres[-1] * NEAR)


def answer(question: Question, machine: Machine) -> Answer | None:
    """Returns what a machine measured of a question; None where it did not, or recorded what is no number."""
    if question.key not in machine.records:
        return None
    entry = machine.records[question.key]
    found = middle(entry)
    if found is None:
        return None
    by = 100 if question.percent else 1
    centres, halves = found
    return Answer(machine, tuple(by * each for each in centres), tuple((by * a, by * b) for a, b in halves))


def middle(entry: Mapping[str, Any]) -> tuple[tuple[float, ...], tuple[tuple[float, float], ...]] | None:
    """Returns the centres of a record and its middle half, both of each mode; of few samples their range."""
    value = entry["value"]
    if isinstance(value, Measurement):
        modes = value.modes()
        if len(value.samples) < FEW:
            return (value.median,), ((min(value.samples), max(value.samples)),)
        if len(modes) > 1:
            return tuple(mode.median for mode in modes), tuple(mode.quartiles for mode in modes)
        return (value.median,), (value.quartiles,)
    refused = "ratio" in entry and ratio_words(entry["ratio"], "", str).value == "–"
    if refused or isinstance(value, str):
        return None
    return (float(value),), ((float(value), float(value)),)


def position(value: float, stops: Sequence[float]) -> float:
    """Returns where a value lies between the first of ``stops``, which is 0, and the last, 1: as far beyond its
    neighbour below as their ratio, or their difference, says."""
    if value <= stops[0] or value >= stops[-1]:
        return float(value >= stops[-1])
    after = bisect.bisect_right(stops, value)
    low, high = stops[after - 1], stops[after]
    part = math.log(value / low) / math.log(high / low) if low > 0 else (value - low) / (high - low)
    return (after - 1 + part) / (len(stops) - 1)


def problems(book: Book) -> list[str]:
    """Returns what is wrong with questions, as messages with file and line that say what would be right."""
    return [f"chapters/{problem}" for problem in found_on_pages(book, "guesses", partial(_problems, book))]


def _problems(book: Book, page: Page) -> list[str]:
    return [f"{page.name}.md:{line}: {{predict}} {name}: {why}" for line, name, why in problems_of(page)]


def problems_of(page: Page) -> Iterator[tuple[int, str, str]]:
    """Yields what is wrong with each question of a page: the line, the record, and what would be right."""
    asked: set[str] = set()
    for line, name, options, has_words in asked_on(page):
        try:
            question(name, options)
        except ValueError as error:
            yield line, name, str(error)
        if name.removesuffix(PERCENT) in asked:
            yield line, name, "asked twice on this page; a question is known by its record"
        if not has_words:
            yield line, name, "has no words: what is asked stands in the directive"
        asked.add(name.removesuffix(PERCENT))


def asked_on(page: Page) -> Iterator[tuple[int, str, dict[str, str], bool]]:
    """Yields each question of a page: the line, the record, the options, and whether there are words."""
    lines = page.text.splitlines()
    for block in page.blocks:
        if block.kind == "{predict}":
            found = itertools.takewhile(bool, map(_OPTION.match, lines[block.line :]))
            options = {match[1]: match[2] for match in found if match}
            words = "".join(lines[block.line + len(options) : page.end(block.line) - 1]).strip()
            yield block.line, block.same.partition("\n")[0].strip(), options, bool(words)
