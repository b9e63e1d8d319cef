"""Three strategies to split two layers, on three processes: each finds the gradients that one device finds."""

from __future__ import annotations

import pytest
import torch

from dlperf.multigpu import pipeline, splits
from dlperf.multigpu.group import Group
from dlperf.multigpu.splits import Case, Sizes, Strategy
from tests.multigpu import splitting

ODD = Sizes(rows=13, width=7, hidden=5, dtype=torch.float64)


def same(found, right):
    for a, b in zip(found, right, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


@pytest.fixture(scope="module")
def three():
    with Group(3) as group:
        yield group


def test_a_step_by_hand_finds_what_autograd_finds():
    same(splits.step(ODD.tensors(), ODD.rows), splitting.oracle(ODD))


def test_sizes_draw_the_same_numbers_in_every_type():
    small = Sizes(ODD.rows, ODD.width, ODD.hidden)
    for a, b in zip(small.tensors(), ODD.tensors(), strict=True):
        assert a.dtype is torch.float32
        assert torch.equal(a, b.float())


@pytest.mark.parametrize("strategy", [Strategy.DATA, Strategy.LAYER])
def test_three_devices_find_it_too_though_three_divides_neither_rows_nor_columns(three, strategy):
    same(splits.join(strategy, three.run(splitting.split, strategy, ODD)), splitting.oracle(ODD))


@pytest.mark.parametrize("rows", [[6], [2, 2, 2], [3, 1]])
def test_a_pipeline_of_three_stages_finds_what_autograd_finds(three, rows):
    widths = [5, 4, 6, 3]
    stages, dx = splitting.whole(widths, rows)
    found = three.run(splitting.through_stages, widths, rows)
    for (mine, _), right in zip(found, stages, strict=True):
        same(mine, right)
    same([torch.cat(found[0][1])], [dx])


def test_by_network_needs_a_device_for_each_layer(three):
    with pytest.raises(RuntimeError, match="two layers are two stages, for two devices; got 3"):
        three.run(splitting.gradients, Case(Strategy.NETWORK, ODD))  # the last: it ends the group


def test_shares_by_network_are_layers():
    with pytest.raises(ValueError, match="there each device has layers of its own"):
        splits.share(Strategy.NETWORK, ODD.tensors(), 0, 2)


def test_a_case_has_a_key():
    assert [Case(strategy, ODD, 4).key for strategy in Strategy] == ["data", "layer", "network-4"]


@pytest.mark.parametrize("devices", [1, 2, 3, 5])
@pytest.mark.parametrize("micro_batches", [1, 2, 7])
def test_the_bubble_is_that_of_a_schedule_of_equal_stages(devices, micro_batches):
    lanes = pipeline.schedule([1.0] * devices, [2.0] * devices, micro_batches)
    assert pipeline.idle(lanes) == pytest.approx(pipeline.bubble(devices, micro_batches))
    assert lanes[0][-1][1] == pytest.approx(3 * (micro_batches + devices - 1))


def test_a_stage_begins_when_its_input_is_there_and_it_is_free():
    first, second = pipeline.schedule([1.0, 3.0], [1.0, 1.0], 2)
    assert first == [(0, 1), (1, 2), (8, 9), (9, 10)]
    assert second == [(1, 4), (4, 7), (7, 8), (8, 9)]


def test_a_pipeline_has_micro_batches():
    with pytest.raises(ValueError, match="got 2 and 0"):
        pipeline.bubble(2, 0)
