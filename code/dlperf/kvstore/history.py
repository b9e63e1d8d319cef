"""Check whether a history of concurrent reads and additions is linearizable.

It is if its operations could have happened one at a time, each between its begin and its end.

Each addition adds 1 at a place of its own, so what a read returns says which additions it has seen. Source: Herlihy
and Wing, Linearizability, TOPLAS 12 (1990).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Addition:
    """It added 1 at ``place``, between two moments; ``end`` is infinite where it was never acknowledged."""

    place: int
    begin: float
    end: float


@dataclass(frozen=True)
class Read:
    """It returned these ``values``, between two moments."""

    values: tuple[int, ...]
    begin: float
    end: float


def objections(additions: Iterable[Addition], reads: Sequence[Read]) -> list[str]:
    """Returns what speaks against one order of all in which each happened between its begin and its end.

    There is such an order just if nothing is counted twice or before it began, any two reads are of one line, in
    which later reads have all that earlier ones had, and a read has whatever was acknowledged before it began, or
    before something began that it has.
    """
    found: list[str] = []
    adding = {each.place: each for each in additions}
    sets = []
    for read in reads:
        twice = [place for place, value in enumerate(read.values) if value not in (0, 1)]
        found += [f"place {place} was counted {read.values[place]} times" for place in twice]
        has = {place for place, value in enumerate(read.values) if value}
        strange = [place for place in has if place not in adding or adding[place].begin > read.end]
        found += [f"place {place} was read before it was added" for place in strange]
        latest = max([read.begin, *(adding[place].begin for place in has if place in adding)])
        lacking = [place for place, each in adding.items() if each.end < latest and place not in has]
        found += [f"place {place} was acknowledged, and then not read" for place in lacking]
        sets.append(has)
    line = sorted(range(len(reads)), key=lambda each: (len(sets[each]), reads[each].begin))
    for one, other in pairwise(line):
        if not sets[one] <= sets[other]:
            found.append(f"reads {one} and {other} each have what the other lacks")
    ended = sorted(range(len(reads)), key=lambda each: reads[each].end)
    fullest, through = -1, 0  # of the reads that had ended when the next one began
    for each in sorted(range(len(reads)), key=lambda each: reads[each].begin):
        while reads[ended[through]].end < reads[each].begin:
            if fullest < 0 or len(sets[ended[through]]) > len(sets[fullest]):
                fullest = ended[through]
            through += 1
        if fullest >= 0 and not sets[fullest] <= sets[each]:
            found.append(f"read {each} began after read {fullest} had ended, and lacks what that had")
    return found
