"""The tasks' gradients and losses, without a store."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils import parameters_to_vector

from dlperf.servers import tasks
from dlperf.servers.tasks import Dense, Full, Sparse


def test_the_network_takes_the_weights_that_it_is_given():
    first = parameters_to_vector(tasks.network(0).parameters()).detach().clone()
    given = torch.randn_like(first)
    assert torch.equal(parameters_to_vector(tasks.network(0, given).parameters()), given)
    assert torch.equal(parameters_to_vector(tasks.network(0).parameters()), first)


def test_a_step_along_the_dense_gradient_changes_the_loss_as_it_says():
    task = Dense(batch=32)
    images, labels = task.draw(np.random.default_rng(0))
    weights = parameters_to_vector(tasks.network(0).parameters()).detach().clone()
    gradient = task.gradient((images, labels), weights)

    def loss(at: torch.Tensor) -> float:
        return F.cross_entropy(tasks.network(0, at)(images), labels).item()

    step = 1e-3 * gradient / gradient.norm()
    slope = (loss(weights + step) - loss(weights - step)) / 2e-3
    assert abs(slope / gradient.norm().item() - 1) < 0.05


@pytest.mark.parametrize("task", [Sparse(), Full()])
def test_regressions_learn_at_the_rates_that_they_are_given(task):
    draw, weights = np.random.default_rng(0), torch.zeros(task.data.features, dtype=torch.float64)
    before = task.loss(weights)
    for _ in range(200):
        batch = task.draw(draw)
        weights[batch.features] -= task.rate / 4 * task.gradient(batch, weights[batch.features])
    assert task.loss(weights) < 0.9 * before


def test_full_examples_ask_for_the_whole_table():
    task = Full()
    assert len(task.draw(np.random.default_rng(0)).features) == task.data.features == 256
    assert len(Sparse().draw(np.random.default_rng(0)).features) < Sparse().data.features / 10
