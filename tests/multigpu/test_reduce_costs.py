"""The formulas of an all-reduce against cases worked out by hand, and what processes count and clock."""

from __future__ import annotations

import pytest

from dlperf.hardware.alpha_beta import Line
from dlperf.multigpu import reduce_costs
from dlperf.multigpu.group import Group

LINK = Line(alpha=1.0, beta=0.1)


@pytest.mark.parametrize(
    ("way", "rank", "sent"),
    [("through one", 0, 300), ("through one", 2, 100), ("sharded", 1, 150), ("ring", 0, 150), ("library", 0, 150)],
)
def test_bytes_sent_by_one_of_four(way, rank, sent):
    assert reduce_costs.sent_bytes(way, 4, 100, rank) == sent


@pytest.mark.parametrize(
    ("way", "size", "seconds"),
    [
        ("through one", 4, 2 * (1 + 30)),
        ("sharded", 4, 2 * (1 + 7.5)),
        ("ring", 4, 6 * (1 + 2.5)),
        ("ring", 2, 2 * (1 + 5)),
        ("ring", 1, 0),
        ("sharded", 1, 0),
        ("through one", 1, 0),
    ],
)
def test_seconds_of_a_hundred_bytes(way, size, seconds):
    assert reduce_costs.predict(way, size, 100, LINK) == pytest.approx(seconds)


def test_every_way_is_clocked_on_the_ranks_that_take_part():
    with Group(2) as group:
        found = group.run(reduce_costs.clocked, 2, [1024, 8], 3)
        trips = group.run(reduce_costs.there_and_back, 5)
    taken = reduce_costs.slowest(found)
    assert set(taken) == {(way, n) for way in reduce_costs.ALL for n in (1024, 8)}
    assert all(len(m.samples) == 3 and min(m.samples) > 0 for m in taken.values())
    slower = [max(a, b) for a, b in zip(found[0]["ring", 8], found[1]["ring", 8], strict=True)]
    assert list(taken["ring", 8].samples) == slower
    assert [len(each) for each in trips] == [4, 4]
    assert (taken["ring", 8] / taken["library", 8]).median > 0  # they took turns, so that they can be divided
