"""Parse a MyST directive: its line, name, argument, options, and the lines that it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

OPENING = re.compile(r"^(\s*)(`{3,}|:{3,})(?:\{([\w:-]+)\}[ \t]*(.*)|([\w+-]*))$")
"""The first line of a directive or of a fence: its indentation, its sign, name and argument, or its language."""
OPTION = re.compile(r"^\s*:([\w-]+):[ \t]*(.*)$")


class Directive(NamedTuple):
    """A directive: its line counted from 0, its name, its argument, its options, and the lines that it holds."""

    line: int
    name: str
    argument: str
    options: dict[str, str]
    lines: list[str]


def end_of(lines: Sequence[str], start: int, sign: str) -> int:
    """Returns the number of the line that closes what opens at ``start``; the last one where none does."""
    closing = re.compile(rf"\s*{sign[0]}{{{len(sign)},}}\s*$")
    return next((n for n in range(start + 1, len(lines)) if closing.match(lines[n])), len(lines) - 1)


def read_directive(line: int, name: str, argument: str, inner: Sequence[str]) -> Directive:
    """Returns a directive with the options at its head taken apart from what it holds."""
    options: dict[str, str] = {}
    start = 0
    while start < len(inner) and (option := OPTION.match(inner[start])):
        options[option[1]] = option[2].strip()
        start += 1
    return Directive(line, name, argument, options, list(inner[start:]))


def fenced(language: str, text: str) -> Iterator[str]:
    """Yields code as the lines of a fence that is longer than any in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", text))])
    yield from [fence + language, *text.split("\n"), fence]
