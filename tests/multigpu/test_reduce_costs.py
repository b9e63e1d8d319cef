"""Bytes and seconds of three all-reduces, by formula, and what is made of measured ones."""

from __future__ import annotations

import pytest

from dlperf.alpha_beta import Line
from dlperf.multigpu import drawings, reduce_costs, traffic
from tests.multigpu.made_up import crew

LINK = Line(1.0, 0.001)


@pytest.mark.parametrize("algorithm", ["first", "sharded", "ring"])
def test_one_device_takes_no_time(algorithm: str) -> None:
    assert reduce_costs.seconds(algorithm, 1, 1000, LINK) == 0


@pytest.mark.parametrize("k", [2, 3, 8])
def test_all_send_what_all_receive(k: int) -> None:
    over_first = sum(reduce_costs.bytes_sent("first", k, 1200, rank) for rank in range(k))
    ring = sum(reduce_costs.bytes_sent("ring", k, 1200, rank) for rank in range(k))
    assert over_first == ring == 2 * (k - 1) * 1200  # only where they are sent differs
    assert max(reduce_costs.bytes_sent("ring", k, 1200, rank) for rank in range(k)) < 2 * 1200


def test_two_devices_around_a_ring_send_half_at_once() -> None:
    assert reduce_costs.seconds("first", 2, 1000, LINK) == 2 * (1 + 1)
    assert reduce_costs.seconds("sharded", 2, 1000, LINK) == 2 * (1 + 0.5)
    assert reduce_costs.seconds("ring", 2, 1000, LINK) == 2 * (1 + 0.5)


def test_a_ring_pays_its_latency_in_each_turn() -> None:
    assert reduce_costs.seconds("ring", 8, 0, LINK) == 14
    assert reduce_costs.seconds("sharded", 8, 0, LINK) == 2


def test_figures_are_the_busiest_host_and_the_slowest() -> None:
    wire = traffic.on_wire(1500)
    found = reduce_costs.compare(
        crew(lambda rank, fn, *args: (2.0 + rank, wire * (1 + 0.01 * rank))), (2, 4), LINK, nbytes=1000, repeats=2
    )
    assert found["ring-4"].median == 5.0
    assert found["ring-4-ratio"].median == pytest.approx(6 * (1 + 0.25) / 5)
    assert found["ring-4-bytes"].median == pytest.approx(1.03 * wire)
    assert found["ring-4-bytes-ratio"].median == pytest.approx(1.03)
    assert {m.unit for key, m in found.items() if key.endswith("ratio")} == {"1"}
    assert reduce_costs.summary(found, LINK, k=4, nbytes=1000) == pytest.approx(
        {"sum-gain-predicted": 8 / 7.5, "bytes-least": 0.515, "bytes-most": 1.515}
    )
    rows = list(drawings.sums(found, (2, 4)).rows)
    assert [row[0] for row in rows] == ["through device 0", "sharded", "ring"]


def test_who_is_no_host_counts_no_bytes() -> None:
    found = reduce_costs.compare(crew(lambda rank, fn, *args: (1.0, 0.0), kind="core"), (2,), LINK, repeats=1)
    assert not any("bytes" in key for key in found)
    assert list(reduce_costs.summary(found, LINK)) == ["sum-gain-predicted"]
