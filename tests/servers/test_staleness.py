"""How stale reads are, on histories made by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.servers.staleness import behind, delay


def test_the_slowest_other_worker_counts():
    assert behind(0, [5, 3, 4]) == 2
    assert behind(1, [5, 3, 4]) == -1
    assert behind(2, [5, 3, 4]) == 1


def test_pushes_of_others_between_read_and_push_count_and_one_s_own_does_not():
    assert delay(0, [5, 3, 4], [6, 5, 5]) == 3
    assert delay(1, [5, 3, 4], [5, 4, 4]) == 0


def test_one_worker_has_nobody_to_be_behind():
    with pytest.raises(ValueError, match=r"got clocks \[7\]"):
        behind(0, [7])


@given(st.lists(st.integers(0, 9), min_size=2, max_size=5), st.integers(-5, 5))
def test_only_differences_count(clocks, shift):
    assert behind(0, [clock + shift for clock in clocks]) == behind(0, clocks)
