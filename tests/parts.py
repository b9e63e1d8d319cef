"""Which part of many tests runs: of so many machines, each takes every so manyth test."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def part_of(items: Sequence[Item], part: str) -> list[Item]:
    """Returns the items of a ``part``, such as "2/4": every fourth, from the second on. "": all of them.

    Neighbours go to different parts, as they take about as long. ValueError if there is no such part.
    """
    if not part:
        return list(items)
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", part)
    number, of = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= of:
        raise ValueError(f"PART is {part!r}; 2/4 would be the second of four parts, and none all of them")
    return list(items[number - 1 :: of])
