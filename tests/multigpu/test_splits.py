"""Three ways to split two layers: each finds the gradients of the whole, and costs what its formula says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dlperf.hardware.alpha_beta import Line
from dlperf.multigpu import costs, footprint, pipeline, rounds, splits, traffic, trials
from dlperf.multigpu.group import Group
from dlperf.multigpu.splits import Sizes, Way
from tests.multigpu import splitting

ODD = Sizes(n=13, d=7, h=5, dtype=torch.float64)


def oracle(sizes):
    x, target, w1, w2 = sizes.tensors()
    wanted = [t.requires_grad_() for t in (x, w1, w2)]
    loss = ((torch.relu(x @ w1) @ w2 - target) ** 2).sum() / 2 / sizes.n
    return torch.autograd.grad(loss, wanted)


def same(found, right):
    for a, b in zip(found, right, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


def test_a_step_by_hand_finds_what_autograd_finds():
    same(splits.step(ODD.tensors(), ODD.n), oracle(ODD))


def test_sizes_draw_the_same_numbers_in_every_type():
    small = Sizes(ODD.n, ODD.d, ODD.h)
    for a, b in zip(small.tensors(), ODD.tensors(), strict=True):
        assert a.dtype is torch.float32
        assert torch.equal(a, b.float())


@pytest.fixture(scope="module")
def three():
    with Group(3) as group:
        yield group


@pytest.mark.parametrize("way", [Way.DATA, Way.LAYER])
def test_three_devices_find_it_too_though_three_divides_neither_rows_nor_columns(three, way):
    same(splits.joined(way, three.run(splitting.split, way, ODD)), oracle(ODD))


@pytest.mark.parametrize("rows", [[6], [2, 2, 2], [3, 1]])
def test_a_pipeline_of_three_stages_finds_what_autograd_finds(three, rows):
    widths = [5, 4, 6, 3]
    stages, dx = splitting.whole(widths, rows)
    found = three.run(splitting.through_stages, widths, rows)
    for (mine, _), right in zip(found, stages, strict=True):
        same(mine, right)
    same([torch.cat(found[0][1])], [dx])


@pytest.fixture(scope="module")
def two():
    with Group(2) as group:
        yield group


@pytest.mark.parametrize("way", list(Way))
def test_what_processes_try_is_correct_and_as_large_as_predicted(two, way):
    sizes = Sizes(n=64, d=1000, h=60, dtype=torch.float64)
    same(splits.joined(way, two.run(trials.gradients, way, sizes, 4)), oracle(sizes))
    for micro_batches in (1, 4):
        most = max(two.run(trials.peak, way, sizes, micro_batches))
        assert most == pytest.approx(costs.memory(way, sizes, 2, micro_batches), rel=0.01)


@pytest.mark.parametrize("way", list(Way))
def test_what_processes_see_of_a_step_has_an_order(two, way):
    seen = two.run(trials.step, way, ODD, 2)
    assert all(one.begin < one.back <= one.end for one in seen + two.run(trials.alone, way, ODD, 2))
    assert [len(one.computing) for one in seen] == ([3, 3] if way is Way.NETWORK else [0, 0])
    assert two.run(trials.latency, 3)[0] > 0


def test_cases_that_take_turns_are_held_against_their_formulas(two):
    cases = [(Way.DATA, ODD, 1), (Way.NETWORK, ODD, 2)]
    data, network_ = rounds.held_against(two.run, cases, repeats=5).values()
    assert set(data) == {"step", "told", "fit", "sum"}
    assert all(1 <= each <= 2 for each in data["sum"].samples)
    for figures in (data, network_):
        np.testing.assert_allclose((figures["told"] / figures["step"]).samples, figures["fit"].samples)
    assert all(0 < share < 1 for side in ("idle", "told idle") for share in network_[side].samples)
    assert [m.unit for m in rounds.timed(two.run, cases, 5).values()] == ["s", "s"]


def test_by_network_needs_a_device_for_each_layer(three):
    with pytest.raises(RuntimeError, match="two layers are two stages, for two devices; got 3"):
        three.run(trials.gradients, Way.NETWORK, ODD)


def test_traffic_is_of_a_host():
    with pytest.raises(ValueError, match="there is no interface nowhere0"):
        traffic.sent("nowhere0")


def test_shares_by_network_are_layers():
    with pytest.raises(ValueError, match="by network each device has layers of its own"):
        splits.share(Way.NETWORK, ODD.tensors(), 0, 2)


def test_by_data_and_by_layer_send_the_same_where_the_batch_is_as_large_as_the_hidden_layer():
    for k in (2, 3, 8):
        ways = [[costs.sent(way, Sizes(n, 512, 64), k) for way in (Way.DATA, Way.LAYER)] for n in (63, 64, 65)]
        assert ways[0][0] > ways[0][1]
        assert ways[1][0] == ways[1][1]
        assert ways[2][0] < ways[2][1]


def test_a_ring_sends_each_share_to_all_others_twice():
    assert costs.added_up(100, 1) == 0
    assert costs.added_up(100, 2) == 100
    assert costs.added_up(100, 4) == 150
    assert costs.all_reduce(Line(1.0, 0.1), 40, 4) == pytest.approx(6 * (1 + 1))


def test_seconds_are_computation_and_messages():
    sizes, line = Sizes(n=4, d=10, h=5, dtype=torch.float64), Line(1.0, 0.01)
    alone = [(1.0, 2.0), (1.5, 2.5)]
    assert costs.seconds(Way.DATA, sizes, line, alone) == pytest.approx(4 + 2 * 2 * (1 + 0.01 * 8 * 50 / 2))
    assert costs.seconds(Way.LAYER, sizes, line, alone) == pytest.approx(4 + 2 * 2 * (1 + 0.01 * 8 * 40 / 2))
    assert costs.seconds(Way.NETWORK, sizes, line, alone) == pytest.approx(7 + 2 * (1 + 0.01 * 8 * 20))


@pytest.mark.parametrize("devices", [1, 2, 3, 5])
@pytest.mark.parametrize("micro_batches", [1, 2, 7])
def test_the_bubble_is_that_of_a_schedule_of_equal_stages(devices, micro_batches):
    lanes = pipeline.schedule([1.0] * devices, [2.0] * devices, micro_batches)
    assert pipeline.idle(lanes) == pytest.approx(pipeline.bubble(devices, micro_batches))
    assert pipeline.length(lanes) == pytest.approx(3 * (micro_batches + devices - 1))


def test_a_schedule_waits_for_messages_which_wait_for_their_link():
    (first, second) = pipeline.schedule([1.0, 1.0], [1.0, 1.0], 2, message=3.0)
    assert first[:2] == [(0, 1), (1, 2)]
    assert second == [(4, 5), (7, 8), (8, 9), (9, 10)]
    assert first[2:] == [(12, 13), (15, 16)]


def test_a_pipeline_has_micro_batches():
    with pytest.raises(ValueError, match="got 2 and 0"):
        pipeline.bubble(2, 0)


def test_the_peak_counts_what_is_there_at_once_and_shared_memory_once():
    assert splitting.waits_for_nobody(0, 1, 3) == pytest.approx((1 + 2 * 3) * 2**20, rel=1e-4)  # and a few scalars
    assert footprint.peak(lambda: None, torch.device("cpu")) == 0
