"""The chapter's drawings: readable in every language, and true to what they show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booktools.show.catalogue import Catalogue
from dlperf.asynchrony import drawings
from dlperf.asynchrony.costs import Costs
from tests.drawn import faults, texts

EVERY = {name: getattr(drawings, name) for name in ("fed", "hazards", "costs", "bounded", "streams")}
LENGTH = st.floats(0.01, 5)


def test_too_short_a_cost_is_found_out():
    assert faults(drawings.costs(hear=0.05), Catalogue(None))


@given(LENGTH, LENGTH, st.integers(1, 8))
def test_both_sides_take_as_long_as_the_chapter_says(first, second, number):
    """In line it is the sum, ahead the maximum: the formulas are those of the chapter's costs."""
    model = Costs(first, second, 0)
    assert drawings.in_line(first, second, number)[1][-1][1] == pytest.approx(model.synchronous(number))
    assert drawings.ahead(first, second, number)[1][-1][1] == pytest.approx(model.asynchronous(number))


@given(LENGTH, LENGTH, st.integers(1, 8))
def test_gaps_and_spans_fill_the_time(first, second, number):
    _, used = drawings.ahead(first, second, number)
    waited = sum(end - start for start, end in drawings.gaps(used))
    assert waited + number * second == pytest.approx(used[-1][1])


def test_each_hazard_has_a_write_and_the_order_of_its_name():
    for name, (earlier, later, _) in drawings.HAZARDS.items():
        words = {"R": "read x", "W": "write x"}
        assert (later, earlier) == (words[name[0]], words[name[2]])


def test_a_queue_shows_as_many_as_it_has_room_for():
    shown = [len(drawings.bounded(depth).axes[0].patches) for depth in (1, 2, 3)]
    assert shown[2] - shown[1] == shown[1] - shown[0] == 2  # a box and what is in it
    assert "full: the front end waits" in [text.get_text() for text in texts(drawings.bounded())]
