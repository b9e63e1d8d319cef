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


def some(seed: int = 0) -> list[torch.Tensor]:
    return lenet.parameters(torch.Generator().manual_seed(seed))


def test_scores_and_gradients_are_those_of_modules():
    params, images, labels = some(), torch.rand(9, 1, 28, 28), torch.arange(9)
    net = twin(params)
    scores = lenet.lenet(images, params)
    torch.testing.assert_close(scores, net(images))
    cross_entropy(scores, labels).backward()
    cross_entropy(net(images), labels).backward()
    for mine, theirs in zip(params, net.parameters(), strict=True):
        grad = theirs.grad.t() if mine.dim() == 2 else theirs.grad
        torch.testing.assert_close(mine.grad, grad)


def test_the_same_seed_gives_the_same_parameters():
    assert all(torch.equal(a, b) for a, b in zip(some(1), some(1), strict=True))
    assert not torch.equal(some(1)[0], some(2)[0])


def test_scores_start_at_a_sensible_size():
    spread = lenet.lenet(torch.rand(64, 1, 28, 28), some()).std().item()
    assert 0.1 < spread < 10


def test_accuracy_counts_what_is_right():
    params, images = some(), torch.rand(10, 1, 28, 28)
    said = lenet.lenet(images, params).argmax(1)
    wrong = said.clone()
    wrong[:3] = (wrong[:3] + 1) % 10
    assert lenet.accuracy(images, said, params) == 1
    assert abs(lenet.accuracy(images, wrong, params) - 0.7) < 1e-6


def test_copies_are_leaves_of_their_own():
    params = some()
    copies = lenet.on("cpu", params)
    copies[0].data.zero_()
    assert params[0].abs().sum() > 0
    assert all(copy.is_leaf and copy.requires_grad for copy in copies)
    assert lenet.on("cpu", params, torch.float64)[0].dtype == torch.float64
