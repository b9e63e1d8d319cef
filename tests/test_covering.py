"""A few combinations that show every value of every parameter."""

from __future__ import annotations

from collections import Counter
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tests.covering import Value, covering


def cases(*sizes: int) -> list[tuple[int, list[Value]]]:
    """Returns all combinations of parameters with so many values each."""
    combinations = product(*(range(size) for size in sizes))
    return [(n, [(str(i), str(value)) for i, value in enumerate(each)]) for n, each in enumerate(combinations)]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_all_values_are_shown_by_as_many_as_the_longest_parameter_has(sizes: list[int]) -> None:
    given = cases(*sizes)
    taken = covering(given)
    shown = {value for number in taken for value in given[number][1]}
    assert shown == {value for _, values in given for value in values}
    assert len(taken) == max(sizes)
    assert taken == sorted(set(taken))


def test_states_are_taken_in_turn() -> None:
    """Of 30 pages in three states each page is shown once and each state ten times."""
    given = cases(30, 3)
    states = Counter(given[number][1][1] for number in covering(given))
    assert list(states.values()) == [10, 10, 10]


def test_what_has_no_parameters_or_one_is_left_whole() -> None:
    assert covering([("only", [])]) == []
    assert len(covering(cases(7))) == 7
