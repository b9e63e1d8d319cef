"""LeNet from raw tensors against the same network of `torch.nn`."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from dlperf.multigpu import lenet


def twin(params: list[torch.Tensor]) -> nn.Module:
    """Returns the network of modules, with these parameters."""
    layers = [nn.Conv2d(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.AvgPool2d(2)]
    net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(800, 128), nn.ReLU(), nn.Linear(128, 10))
    with torch.no_grad():
        for mine, theirs in zip(params, net.parameters(), strict=True):
            theirs.copy_(mine.t() if mine.dim() == 2 else mine)
    return net


def test_scores_and_gradients_are_those_of_modules() -> None:
    params, images, labels = lenet.init_params(), torch.rand(9, 1, 28, 28), torch.arange(9)
    net = twin(params)
    for each in params:
        each.requires_grad_()
    torch.testing.assert_close(lenet.lenet(images, params), net(images))
    cross_entropy(lenet.lenet(images, params), labels).backward()
    cross_entropy(net(images), labels).backward()
    for mine, theirs in zip(params, net.parameters(), strict=True):
        assert theirs.grad is not None
        torch.testing.assert_close(mine.grad, theirs.grad.t() if mine.dim() == 2 else theirs.grad)


def test_a_seed_decides_the_parameters() -> None:
    one, again, other = (lenet.init_params(seed) for seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(one, again, strict=True))
    assert not torch.equal(one[0], other[0])


def test_the_first_scores_have_a_size_that_trains() -> None:
    spread = lenet.lenet(torch.rand(64, 1, 28, 28), lenet.init_params()).std().item()
    assert 0.1 < spread < 10


def test_accuracy_is_the_share_that_is_right() -> None:
    params, images = lenet.init_params(), torch.rand(10, 1, 28, 28)
    answers = lenet.lenet(images, params).argmax(1)
    labels = answers.clone()
    labels[:3] = (labels[:3] + 1) % 10
    assert abs(lenet.accuracy(images, answers, params) - 1) < 1e-6
    assert abs(lenet.accuracy(images, labels, params) - 0.7) < 1e-6
