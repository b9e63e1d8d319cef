"""Recipes for k devices: shares against PyTorch's sampler, rates, statistics, and means of unequal shares by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector
from torch.utils.data import DistributedSampler

from dlperf.concise import accuracy, drawings_accuracy
from dlperf.concise.accuracy import Recipe, Run
from dlperf.concise.ladder.one import digits

SAME = Recipe(batch=8)


def flat(parts: list[list[int]]) -> list[int]:
    return [image for part in parts for image in part]


def all_digits() -> list[torch.Tensor]:
    return [tensor for part in digits() for tensor in part[:]]


def test_shares_are_the_samplers() -> None:
    sampler: DistributedSampler[int] = DistributedSampler(range(40), 2, 1, seed=3)  # type: ignore[arg-type]
    sampler.set_epoch(5)
    mine = accuracy.shares(SAME, 40, 1, 3, 5)
    assert flat(mine) == list(sampler)
    assert {len(part) for part in mine} == {4}


@pytest.mark.parametrize("k", [2, 4])
def test_a_step_of_k_devices_has_the_images_of_a_step_of_one(k: int) -> None:
    recipe = replace(SAME, k=k)
    apart = [accuracy.shares(recipe, 40, rank, 3, 5) for rank in range(k)]
    one = accuracy.shares(replace(SAME, k=1), 40, 0, 3, 5)
    assert [sorted(flat(list(parts))) for parts in zip(*apart, strict=True)] == [sorted(part) for part in one]


def test_without_set_epoch_the_order_stays() -> None:
    def of(recipe: Recipe, rank: int = 0, epoch: int = 0) -> list[list[int]]:
        return accuracy.shares(recipe, 40, rank, 0, epoch)

    assert of(SAME) != of(SAME, epoch=1)
    still = replace(SAME, set_epoch=False)
    assert of(still) == of(still, epoch=1)


def test_a_rate_rises_in_the_first_epoch_and_falls_to_zero() -> None:
    recipe = Recipe(rate=0.8)
    rates = [accuracy.rate_at(recipe, step, 16, 4) for step in range(16)]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8])
    assert rates[-1] == pytest.approx(0.8 / 12)
    still = [accuracy.rate_at(replace(recipe, falls=False), step, 16, 4) for step in range(16)]
    assert still == pytest.approx([0.2, 0.4, 0.6, *[0.8] * 13])
    at_once = [accuracy.rate_at(replace(recipe, warm_up=False), step, 16, 4) for step in range(16)]
    assert at_once == pytest.approx([0.8 * (16 - step) / 16 for step in range(16)])


def test_fresh_statistics_are_those_of_the_images_and_the_network_stays() -> None:
    images = torch.rand(512, 8, 8, generator=torch.Generator().manual_seed(0))
    net = accuracy.network(1)
    fresh = accuracy.fresh_statistics(net, images)
    torch.testing.assert_close(parameters_to_vector(fresh.parameters()), parameters_to_vector(net.parameters()))
    (before, norm), *_ = [m for m in fresh.modules() if isinstance(m, nn.Sequential) and len(m) == 2]
    assert isinstance(norm, nn.BatchNorm2d)
    assert norm.running_mean is not None
    torch.testing.assert_close(norm.running_mean, before(images.unsqueeze(1)).mean((0, 2, 3)))
    untouched = [m.num_batches_tracked for m in net.modules() if isinstance(m, nn.BatchNorm2d)]
    assert untouched
    assert not any(untouched)


def test_one_device_learns_and_the_random_state_is_left_alone() -> None:
    state = torch.random.get_rng_state()
    run = accuracy.train(0, 1, Recipe(k=1), all_digits(), 0, (1,))
    assert len(run.running) == len(run.fresh) == 1
    assert run.steps == 2 * 24
    assert run.fresh[-1] > 0.5
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize(("devices", "k"), [(1, 2), (3, 3)])
def test_too_few_devices_and_unequal_shares_are_refused(devices: int, k: int) -> None:
    with pytest.raises(ValueError, match=f"{devices} devices cannot train on a batch of 64 split over {k}"):
        accuracy.train(0, devices, Recipe(k=k), all_digits(), 0, (0,))


def test_the_largest_error_of_a_mean_of_means_is_found_among_all_answers() -> None:
    sizes = (1, 3, 4)
    found = []
    for right in product(*(range(size + 1) for size in sizes)):
        mean = sum(r / size for r, size in zip(right, sizes, strict=True)) / len(sizes)
        found.append(abs(mean - sum(right) / sum(sizes)))
    assert accuracy.largest_error(sizes) == pytest.approx(max(found))
    assert accuracy.largest_error((7, 7, 7)) == pytest.approx(0)


def runs(*ends: float) -> list[Run]:
    return [Run([0.1, end - 0.02], [0.4, end], 17) for end in ends]


TRAINED = {
    "one device": runs(0.71, 0.73),
    "two devices": runs(0.61, 0.65),
    "four devices": runs(0.66, 0.66),
    **{name: runs(0.5 + 0.01 * i) for i, name in enumerate(accuracy.CHANGES)},
}


def test_the_textbooks_rate_starts_high_and_stays_there() -> None:
    recipe = next(iter(accuracy.CHANGES.values()))
    rates = {accuracy.rate_at(recipe, step, 16, 4) for step in range(16)}
    assert rates == {2 * accuracy.RIGHT.rate}
    assert recipe.batch == 2 * accuracy.RIGHT.batch


def test_a_summary_has_means_and_differences_in_points() -> None:
    found = accuracy.summary(TRAINED)
    assert found["right-2"] == pytest.approx(0.63)
    assert found["right-spread"] == pytest.approx(9)
    assert found["right-error"] == pytest.approx(1)  # one device less two: 10 and 8 points, by seed
    assert found["cost-textbook-rate"] == found["worst-cost"] == pytest.approx(13)
    assert found["cost-constant-rate"] == pytest.approx(12)
    assert found["cost-no-set-epoch"] == pytest.approx(11)
    assert (found["early-gap"], found["late-gap"], found["late-gap-constant"]) == pytest.approx((30, 2, 2))
    assert (found["early-running"], found["early-fresh"]) == pytest.approx((0.1, 0.4))
    assert found["seeds"] == 2


def test_one_seed_has_a_summary_too() -> None:
    found = accuracy.summary({name: runs(0.5) for name in TRAINED})
    assert found["right-error"] == 0


def test_a_table_has_a_row_and_a_figure_a_line_for_each() -> None:
    table = drawings_accuracy.table(TRAINED)
    rows = list(table.rows)
    assert [row[0] for row in rows] == list(TRAINED)
    assert rows[1] == ("two devices", "17", "63.0", "61.0 to 65.0", "61.0")
    axes = drawings_accuracy.epochs(TRAINED["two devices"]).axes[0]
    assert [list(line.get_ydata()) for line in axes.lines] == [
        pytest.approx([40, 61]),
        pytest.approx([40, 65]),
        pytest.approx([10, 59]),
        pytest.approx([10, 63]),
    ]
