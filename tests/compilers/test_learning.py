"""Losses over the same mini-batches, and what a rounding error in the weights does to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from dlperf.compilers import learning
from dlperf.models.steps import Step

LESSONS = [(torch.full((2, 4), float(i)), torch.tensor([i % 3, 1])) for i in range(5)]


def trained(change: Callable[[Step], object] = lambda step: None) -> torch.Tensor:
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    step = Step(model, torch.optim.SGD(model.parameters(), lr=0.1), *LESSONS[0])
    change(step)
    return learning.losses(step, LESSONS)


def test_the_same_training_has_the_same_losses_and_another_has_not() -> None:
    losses = trained()
    assert losses.dtype == torch.float64
    assert len(losses) == len(LESSONS)
    assert learning.apart(trained(), losses).max() == 0
    nudged = learning.apart(trained(lambda step: learning.nudge(step.model)), losses)
    wrong = learning.apart(trained(lambda step: step.optimizer.param_groups[0].update(lr=0.2)), losses)
    assert 0 < nudged.max() < 1e-4 < wrong.max()
    assert wrong[0] == 0  # the loss of a step is that before it changes anything


def test_a_difference_is_a_share_of_the_second() -> None:
    assert learning.apart(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 2.0])).tolist() == [0.5, 0.5]


def test_a_nudge_is_a_rounding_error() -> None:
    one, other = nn.Linear(100, 100), nn.Linear(100, 100)
    other.load_state_dict(one.state_dict())
    learning.nudge(other)
    weights, nudged = (torch.cat([p.detach().flatten() for p in net.parameters()]) for net in (one, other))
    eps = torch.finfo(torch.float32).eps
    assert 0.5 < (weights != nudged).float().mean() < 0.8
    torch.testing.assert_close(weights, nudged, rtol=1.5 * eps, atol=0)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(weights, nudged, rtol=0, atol=0)
