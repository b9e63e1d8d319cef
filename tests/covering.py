"""Which combinations of parameters are run: each value of each, or all of them with ``--thorough``.

A test of the site in two languages, two widths and two ways to serve it has eight combinations, and what breaks
nearly always breaks with one value whatever the others are: two combinations show all six values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

Case = TypeVar("Case")
Value = tuple[str, str]


def covering(cases: Sequence[tuple[Case, Iterable[Value]]]) -> list[Case]:
    """Returns a few of the cases, in their order, whose values are those of all of them.

    A case comes with its values, each a parameter's name and what it is there. The next one taken is always that
    which has the most values not yet seen, of several that whose values were seen least often, of those the first;
    so many pages in three states have each state equally often.
    """
    values = [frozenset(each) for _, each in cases]
    seen, taken = Counter[Value](), list[int]()
    left = range(len(cases))
    while left := [number for number in left if values[number] - seen.keys()]:
        best = min(left, key=lambda n: (-len(values[n] - seen.keys()), sum(seen[value] for value in values[n])))
        taken.append(best)
        seen.update(values[best])
    return [cases[number][0] for number in sorted(taken)]
