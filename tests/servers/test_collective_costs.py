"""The formulas of an all-reduce against cases worked out by hand, and what holds for every number of ranks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.alpha_beta import Line
from dlperf.measurement import Measurement
from dlperf.multigpu.reduce_costs import seconds
from dlperf.servers import collective_costs as costs
from dlperf.servers.collective_costs import line_of
from dlperf.servers.collectives import WAYS

LINK = Line(alpha=1.0, beta=0.1)
RANKS = st.integers(1, 300)
LINES = st.builds(Line, st.floats(1e-6, 1e-2), st.floats(1e-11, 1e-6))


@pytest.mark.parametrize(
    ("way", "ranks", "seconds", "sent"),
    [
        ("ring", 4, 6 * (1 + 2.5), 150),
        ("tree", 4, 4 * (1 + 10), 200),
        ("halving-doubling", 4, 2 * (1 + 5) + 2 * (1 + 2.5), 150),
        ("ring", 5, 8 * (1 + 2), 160),
        ("tree", 5, 6 * (1 + 10), 300),
        ("halving-doubling", 5, 2 * (1 + 10) + 2 * (1 + 5) + 2 * (1 + 2.5), 250),
        *[(way, 1, 0, 0) for way in WAYS],
    ],
)
def test_a_hundred_bytes(way, ranks, seconds, sent):
    assert costs.seconds(way, ranks, 100, LINK) == pytest.approx(seconds)
    assert costs.sent(way, ranks, 100) == pytest.approx(sent)


def test_a_hundred_bytes_over_two_hosts_of_two():
    across = Line(alpha=3.0, beta=0.2)
    assert costs.seconds_by_level(2, 2, 100, LINK, across) == pytest.approx(2 * (1 + 5) + 2 * (3 + 5))
    assert costs.sent_by_level(2, 2, 100) == pytest.approx((100, 50))
    assert costs.shared(across, 2) == Line(3.0, 0.4)


@given(RANKS, st.floats(0, 1e9), LINES)
def test_a_ring_costs_what_the_chapter_on_several_devices_says(ranks, size, line):
    assert costs.seconds("ring", ranks, size, line) == pytest.approx(seconds("ring", ranks, size, line))


@given(st.sampled_from(list(WAYS)), RANKS)
def test_none_sends_less_than_a_ring(way, ranks):
    assert costs.sent(way, ranks, 1.0) >= costs.sent("ring", ranks, 1.0) * (1 - 1e-12)
    assert costs.path(way, ranks).tensors >= costs.sent(way, ranks, 1.0)


@given(st.sampled_from(list(WAYS)), st.sampled_from(list(WAYS)), RANKS, LINES)
def test_where_two_cost_the_same_each_is_the_faster_on_one_side(one, other, ranks, line):
    size = costs.crossover(one, other, ranks, line)

    def ahead(bytes_: float) -> float:
        return costs.seconds(one, ranks, bytes_, line) - costs.seconds(other, ranks, bytes_, line)

    if size is None:
        assert ahead(1.0) * ahead(1e12) >= 0
    else:
        assert costs.seconds(one, ranks, size, line) == pytest.approx(costs.seconds(other, ranks, size, line))
        assert ahead(size / 2) * ahead(2 * size) < 0
        assert costs.crossover(other, one, ranks, line) == pytest.approx(size)


def test_a_ring_and_a_tree_of_four_by_hand():
    assert costs.crossover("ring", "tree", 4, LINK) == pytest.approx(2 * 1 / (2.5 * 0.1))
    assert costs.crossover("ring", "halving-doubling", 4, LINK) is None  # it is never slower
    assert costs.crossover("ring", "tree", 4, Line(0, 1)) is None
    assert costs.crossover("ring", "tree", 4, Line(1, 0)) is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: costs.path("bush", 4), "bush"),
        (lambda: costs.sent("ring", 0, 1), "world_size=0"),
        (lambda: costs.shared(LINK, 0), "got 0"),
    ],
)
def test_what_makes_no_sense_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_a_line_is_that_of_the_messages_alone():
    found = {("step", n): Measurement((LINK(n),), "s") for n in (10, 100, 1000)} | {
        ("ring", 10): Measurement((99.0,), "s")
    }
    line = line_of(found)
    assert (line.alpha, line.beta) == pytest.approx((LINK.alpha, LINK.beta))
