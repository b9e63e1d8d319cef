"""The checker of histories, against a search through all orders."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlperf.kvstore.history import Addition, Read, objections

PLACES = 3
TIMES = st.tuples(st.integers(0, 9), st.integers(1, 6)).map(lambda t: (float(t[0]), float(t[0] + t[1])))


def possible(additions: list[Addition], reads: list[Read]) -> bool:
    """Returns whether some order of all operations, or without those never acknowledged, explains the reads."""
    operations: list[Addition | Read] = [*additions, *reads]
    for order in permutations(operations):
        at = {id(each): i for i, each in enumerate(order)}
        if any(a.end < b.begin and at[id(a)] > at[id(b)] for a in order for b in order):
            continue
        has: set[int] = set()
        fits = True
        for each in order:
            if isinstance(each, Addition):
                has.add(each.place)
            elif {p for p, v in enumerate(each.values) if v} != has:
                fits = False
                break
        if fits:
            return True
    return False


@settings(max_examples=400)
@given(
    st.lists(TIMES, min_size=1, max_size=PLACES),
    st.lists(st.tuples(TIMES, st.tuples(*[st.integers(0, 1)] * PLACES)), max_size=3),
)
def test_it_objects_just_where_no_order_explains(adds: list[tuple[float, float]], reads: list) -> None:
    additions = [Addition(place, *times) for place, times in enumerate(adds)]
    seen = [Read(values, *times) for times, values in reads]
    assert possible(additions, seen) == (not objections(additions, seen))


@pytest.mark.parametrize(
    ("reads", "why"),
    [
        ([Read((2,), 5, 6)], "counted 2 times"),
        ([Read((0,), 5, 6)], "acknowledged, and then not read"),
        ([Read((1,), -2, -1)], "before it was added"),
    ],
)
def test_it_says_what_is_wrong(reads: list[Read], why: str) -> None:
    assert why in objections([Addition(0, 0, 1)], reads)[0]
