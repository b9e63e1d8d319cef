"""Spans: against counting on a grid, and the drawing of bars."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf import spans
from dlperf.plot import figure

GRID = 20
SPAN = st.tuples(st.integers(0, GRID), st.integers(0, GRID)).map(lambda ends: (float(min(ends)), float(max(ends))))
LANES = st.lists(st.lists(SPAN, max_size=5), min_size=1, max_size=4)


def counted(lanes: list[list[tuple[float, float]]], least: int) -> int:
    """Returns how many of the grid's unit steps lie in a span of at least so many lanes."""
    inside = [[any(a <= i and i + 1 <= b for a, b in lane) for lane in lanes] for i in range(GRID)]
    return sum(sum(step) >= least for step in inside)


@given(LANES, st.integers(1, 4))
def test_at_once_is_what_counting_finds(lanes: list[list[tuple[float, float]]], least: int) -> None:
    assert spans.at_once(lanes, least) == counted(lanes, least)


@given(LANES)
def test_by_default_all_lanes_have_to_be_running(lanes: list[list[tuple[float, float]]]) -> None:
    assert spans.at_once(lanes) == counted(lanes, len(lanes))


@given(st.lists(SPAN))
def test_covered_counts_overlaps_once(lane: list[tuple[float, float]]) -> None:
    assert spans.covered(lane) == counted([lane], 1)


def test_nothing_runs_where_there_are_no_lanes() -> None:
    assert spans.at_once([]) == 0
    assert spans.covered([]) == 0


def test_a_message_has_the_link_from_when_the_one_before_it_has_arrived() -> None:
    assert spans.queued(0.0, [1.0, 2.0, 9.0], [5.0, 8.0, 11.0]) == [(1.0, 5.0), (5.0, 8.0), (9.0, 11.0)]
    assert spans.queued(2.0, [1.0, 1.5], [8.0, 5.0]) == [(2.0, 5.0), (5.0, 8.0)]


def test_extent_goes_from_the_first_beginning_to_the_last_end() -> None:
    assert spans.extent([(2.0, 3.0), (1.0, 2.5)]) == 2.0


def test_bars_stand_in_rows_from_the_top_in_milliseconds_from_zero() -> None:
    _, axes = figure()
    spans.bars(axes, {"first": [(10.0, 10.5)], "second": [(10.25, 11.0), (12.0, 12.5)]}, zero=10.0)
    first, second = axes.collections
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", "second"]
    assert axes.yaxis_inverted()
    assert first.get_paths()[0].get_extents().intervalx == pytest.approx((0, 500))
    assert [path.get_extents().x0 for path in second.get_paths()] == pytest.approx([250, 2000])
