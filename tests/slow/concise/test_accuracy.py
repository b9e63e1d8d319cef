"""Two processes train as one does, to rounding, once batch norm too sees the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.nn.functional import all_reduce
from torch.nn.utils import parameters_to_vector

from dlperf.concise import accuracy
from dlperf.concise.accuracy import RIGHT, Recipe
from dlperf.concise.ladder.one import digits
from dlperf.multigpu.group import processes

ONE = replace(RIGHT, k=1)


class Synchronised(nn.BatchNorm2d):
    """Batch norm over the equal shares of all processes; `nn.SyncBatchNorm` refuses a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or dist.get_world_size() == 1:
            return super().forward(x)
        mean = all_reduce(x.mean((0, 2, 3), keepdim=True)) / dist.get_world_size()
        variance = all_reduce((x - mean).square().mean((0, 2, 3), keepdim=True)) / dist.get_world_size()
        assert self.weight is not None
        return (x - mean) * (variance + self.eps).rsqrt() * self.weight.view(-1, 1, 1) + self.bias.view(-1, 1, 1)


def weights(rank: int, size: int, recipe: Recipe, data: Sequence[Tensor], synchronised: bool) -> Tensor:
    """Returns the weights after one epoch in float64; nobody tests by statistics that this batch norm does not keep."""
    plain, net = accuracy.network, accuracy.network(0).double()
    if synchronised and recipe.k > 1:
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.__class__ = Synchronised
    accuracy.network = lambda seed: net
    testing, accuracy.accuracy = accuracy.accuracy, lambda *_: 0.0
    fresh, accuracy.fresh_statistics = accuracy.fresh_statistics, lambda net, images: net
    try:
        accuracy.train(rank, size, recipe, data, 0, (0,))
    finally:
        accuracy.network, accuracy.accuracy, accuracy.fresh_statistics = plain, testing, fresh
    return parameters_to_vector(net.parameters()).detach()


def test_with_synchronised_batch_norm_two_processes_are_one_and_without_they_are_not() -> None:
    images, labels, *test = (tensor for part in digits() for tensor in part[:])
    data = [images.double(), labels, test[0].double(), test[1]]
    with processes(2) as crew:
        one = crew.first(1).run(weights, ONE, data, False)[0]
        first, other = crew.run(weights, RIGHT, data, True)
        apart = crew.run(weights, RIGHT, data, False)[0]
    off = lambda found: float((found - one).norm() / one.norm())
    torch.testing.assert_close(first, other, rtol=0, atol=0)
    assert off(first) < 1e-8
    assert off(apart) > 1e-3
