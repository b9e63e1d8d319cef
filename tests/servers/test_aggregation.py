"""Where gradients are added up: the numbers of d2l from loads of links, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.alpha_beta import Line
from dlperf.multigpu import reduce_costs
from dlperf.servers import aggregation
from dlperf.servers.aggregation import SHAPES, per_direction, phases, ring_seconds, seconds, seconds_half_duplex
from dlperf.servers.loads import back

MB, GB = 1e6, 1e9


@pytest.mark.parametrize(("shape", "told"), [("one device", 0.060), ("CPU", 0.080), ("sharded", 0.015)])
def test_the_classic_numbers_follow(shape, told):
    assert seconds(shape, 4, 160 * MB, 16 * GB) == pytest.approx(told)


def test_half_duplex_costs_only_what_goes_both_ways_at_once():
    half = [seconds_half_duplex(shape, 4, 160 * MB, 16 * GB) for shape in SHAPES]
    assert half == pytest.approx([0.060, 0.080, 0.030])


@given(st.integers(1, 64), st.floats(0, 1e9))
def test_formulas_are_those_of_messages_over_links(devices, size):
    line = Line(0.0, 1 / GB)
    assert seconds("one device", devices, size, GB) == pytest.approx(reduce_costs.seconds("first", devices, size, line))
    assert seconds("sharded", devices, size, GB) == pytest.approx(reduce_costs.seconds("sharded", devices, size, line))
    assert seconds("sharded", devices, size, GB) == pytest.approx(ring_seconds(devices, size, 1, GB))
    assert seconds("CPU", devices, size, GB) == pytest.approx(reduce_costs.seconds("first", devices + 1, size, line))


@given(st.sampled_from(SHAPES), st.integers(1, 64))
def test_what_comes_together_goes_back_the_other_way(shape, devices):
    there, goes_back = phases(shape, devices)
    assert goes_back == back(there)


def test_a_ring_of_nvlink_in_the_right_units():
    rate = per_direction(300 * GB, 6)
    assert rate == 25 * GB
    assert ring_seconds(8, 160 * MB, 3, rate) == pytest.approx(2 * 7 / 8 * 160 * MB / (3 * 25 * GB))


def test_what_is_refused_is_named():
    with pytest.raises(ValueError, match=r"one device, CPU, sharded, got 'GPU'"):
        aggregation.seconds("GPU", 4, 1, 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one device, got 0"):
        phases("CPU", 0)
