"""Forecasts against sums that a hand can add up."""

from __future__ import annotations

import pytest

from dlperf.alpha_beta import Line
from dlperf.concise import forecast
from dlperf.concise.forecast import MIB
from dlperf.concise.observe import Trace

LINK = Line(0.5, 0.01)
"""Half a second, and a hundredth for each byte."""
APART = Trace(0, {"forward": [(0.0, 2.0)], "backward": [(2.0, 6.0)], "update": [(6.0, 6.5)]}, {}, [7.0])
"""A step of 7 s, half a second of which is none of its parts."""


def test_a_bucket_leaves_when_it_is_full_and_the_first_one_earlier() -> None:
    assert forecast.fill_buckets([3, 3, 3, 3, 3], first=4, cap=7) == [6, 9]
    assert forecast.fill_buckets([3, 3, 3, 3, 1], first=4, cap=100) == [6, 7]
    assert forecast.fill_buckets([MIB, MIB, 25 * MIB, 2]) == [MIB, 26 * MIB, 2]


def test_what_hides_behind_the_backward_pass_costs_nothing() -> None:
    free = Line(1e-9, 1e-12)
    assert forecast.step(APART, [10, 30], free) == pytest.approx(7.0)


def test_the_last_bucket_comes_on_top() -> None:
    first, last = 2 * (0.5 + 0.05), 2 * (0.5 + 0.15)  # of 10 and 30 bytes around a ring of two
    assert forecast.step(APART, [10, 30], LINK) == pytest.approx(7.0 + last)
    assert first < 3.0  # it is there before the backward pass has ended
    assert forecast.step(APART, [40], LINK) == pytest.approx(7.0 + 2 * (0.5 + 0.2))


def test_of_several_pieces_only_the_last_one_sends() -> None:
    last = 2 * (0.5 + 0.15)
    assert forecast.step(APART, [10, 30], LINK, pieces=3) == pytest.approx(3 * 6.5 + last + 0.5)


def test_an_all_reduce_sends_two_passes_and_fully_shard_three() -> None:
    assert forecast.sent(80, 2) == 80
    assert forecast.sent(80, 4) == 120
    assert forecast.sent(80, 4, passes=3) == 180


def test_the_state_is_sixteen_bytes_a_parameter_and_sharded_a_part_and_one_block() -> None:
    net = forecast.model(width=8, blocks=2)
    number = sum(weights.numel() for weights in net.parameters())
    found = forecast.memory(net, 100)
    assert (found.parameters, found.gradients, found.optimizer) == (4 * number, 4 * number, 8 * number)
    assert found.total == 16 * number + 100
    sharded = forecast.memory(net, 100, k=2)
    block, ends = (
        sum(w.nbytes for part in parts for w in part.parameters()) for parts in ([net[1]], (net[0], net[-1]))
    )
    assert (sharded.gradients, sharded.optimizer) == (2 * number, 4 * number)
    assert sharded.parameters == 2 * number + block + ends


def test_gradients_come_last_layer_first() -> None:
    found = forecast.gradients(forecast.model(width=8, blocks=1))
    assert found[:2] == [4 * 10, 4 * 10 * 64]  # the last layer's ten biases, then its matrix
    assert found[-1] == 4 * 8 * 8
