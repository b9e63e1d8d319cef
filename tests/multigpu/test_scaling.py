"""A data-parallel step: the same as one on the whole batch, by plain autograd; and what its clocks answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.nn.functional import cross_entropy

from dlperf.models import gpt
from dlperf.multigpu import scaling
from dlperf.multigpu.group import Group
from dlperf.multigpu.scaling import Task
from tests.multigpu import scaled

SMALL = gpt.Size(vocabulary=100, context=16, layers=1, heads=2, width=8)


@pytest.fixture(scope="module")
def group() -> Iterator[Group]:
    with Group(2) as made:
        yield made


def whole(task: Task, batch: int) -> torch.Tensor:
    """Returns the gradient of the first so many examples of a batch, on one device, by autograd alone."""
    step = task.step("cpu")
    loss = cross_entropy(step.model(step.inputs[:batch]).flatten(0, -2), step.targets[:batch].flatten())
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(step.model.parameters()))])


@pytest.mark.parametrize("task", [Task("LeNet", 8), Task("GPT", 4, SMALL)])
def test_two_devices_have_the_gradient_of_the_whole_batch(group: Group, task: Task) -> None:
    right, half = whole(task, task.batch), whole(task, task.batch // 2)
    for found in group.run(scaled.gradient, task, 2):
        assert (found - right).abs().max() < 1e-5 * right.abs().max()
        assert (found - half).abs().max() > 1e-2 * right.abs().max()  # so that the line above can fail


def test_who_has_no_part_answers_nothing(group: Group) -> None:
    task = Task("LeNet", 4)
    for clock in (scaling.together, scaling.apart):
        first, second = group.run(clock, task, 1)
        assert first > 0
        assert second == 0
    assert all(seconds > 0 for seconds in group.run(scaling.together, task, 2))


def test_all_devices_exchange(group: Group) -> None:
    assert all(seconds > 0 for seconds in group.run(scaling.exchange, [4, 4096], 2, 3))


def test_shares_must_be_alike(group: Group) -> None:
    assert "5 is no multiple of 2" in group.run(scaled.refused)[0]
