"""The tasks' gradients and losses, without a store."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils import parameters_to_vector

from dlperf.servers import tasks
from dlperf.servers.tasks import Dense


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
