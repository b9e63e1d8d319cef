"""Data-parallel training by hand, against PyTorch's own optimizer on whole batches and against its DDP."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy

from dlperf.multigpu import correctness, datasets, lenet, training
from dlperf.multigpu.group import Group
from tests.multigpu.teaching import by_ddp, disagree, gradients, sizes_of_parts

DATA = datasets.digits()


@pytest.fixture(scope="module")
def three():
    with Group(3) as group:
        yield group


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [0, 1, 7, 24])
def test_parts_are_the_batch_and_differ_by_one_at_most(n, size):
    images, labels = torch.rand(n, 1, 28, 28), torch.arange(n)
    parts = training.split_batch(images, labels, size)
    lengths = [len(part) for part, _ in parts]
    assert len(parts) == size
    assert max(lengths) - min(lengths) <= 1
    assert torch.equal(torch.cat([part for part, _ in parts]), images)
    assert torch.equal(torch.cat([classes for _, classes in parts]), labels)


def test_three_ranks_train_as_one_device_does(three):
    few = datasets.Data(DATA.images[:320], DATA.labels[:320], DATA.test_images, DATA.test_labels)
    first, *others = three.run(training.train, few, 2, 50)
    assert all(torch.equal(a, b) for other in others for a, b in zip(first.params, other.params, strict=True))
    params = lenet.parameters(torch.Generator().manual_seed(0))
    optimizer, losses = torch.optim.SGD(params, 0.1), []
    for epoch in range(2):
        losses.append(0.0)
        for images, labels in training.batches(few, 50, epoch):  # 50 is not divisible by 3; the last has 20
            optimizer.zero_grad()
            loss = cross_entropy(lenet.lenet(images, params), labels)
            loss.backward()
            optimizer.step()
            losses[-1] += loss.item() * len(images) / 320
    for mine, theirs in zip(first.params, params, strict=True):
        torch.testing.assert_close(mine, theirs.detach(), rtol=1e-3, atol=1e-5)
    assert first.losses == pytest.approx(losses, rel=1e-4)
    assert first.accuracy == pytest.approx(lenet.accuracy(few.test_images, few.test_labels, params))


def test_gradients_are_those_of_ddp(three):
    mine = three.run(gradients, DATA, 24, "sharded")
    theirs = three.run(by_ddp, DATA, 24)
    for a, b in zip(mine, theirs, strict=True):
        for found, right in zip(a, b, strict=True):
            torch.testing.assert_close(found, right, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 7, 24])
def test_the_gradient_is_the_whole_batch_s(three, n):
    found = three.run(correctness.errors, DATA, [3], [n], torch.float64, training.whole_gradient)
    right = correctness.worst(found)
    assert set(right) == {(3, n)}
    assert max(right.values()) < 1e-12


def test_the_mean_of_means_is_wrong_where_parts_are_unequal(three):
    found = three.run(correctness.errors, DATA, [3], [7, 24], torch.float64, correctness.mean_of_means)
    wrong = correctness.worst(found)
    assert wrong[3, 24] < 1e-12  # a divisor
    assert wrong[3, 7] > 1e-3


def test_a_sum_that_reached_only_a_copy_is_caught(three):
    for found in three.run(correctness.drifts, DATA, 2):
        assert found["sharded"][0] == [True, True]
        assert found["to_a_copy"][0] == [False, False]


def test_one_value_that_differs_on_one_rank_is_seen_on_all(three):
    assert three.run(disagree, 0.0) == [True] * 3
    assert three.run(disagree, 1e-7) == [False] * 3


def test_every_rank_gets_its_part(three):
    assert three.run(sizes_of_parts, 7) == [3, 2, 2]


def test_relative_error_is_of_the_whole_gradient():
    found = [torch.tensor([3.0, 0.0]), torch.tensor([4.0])]
    right = [torch.tensor([3.0, 0.5]).double(), torch.tensor([4.0]).double()]
    assert correctness.relative_error(found, right) == pytest.approx(0.5 / 25.25**0.5)
