"""What the tests of training have processes do, in a module that they can import."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from dlperf.multigpu import lenet, training
from dlperf.multigpu.datasets import Data
from dlperf.multigpu.group import device_of
from dlperf.multigpu.reduce import WAYS


class Net(nn.Module):
    """LeNet's parameters as a module's, for DDP."""

    def __init__(self, params: list[torch.Tensor]) -> None:
        super().__init__()
        self.params = nn.ParameterList([nn.Parameter(p.detach().clone()) for p in params])

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return lenet.lenet(images, list(self.params))


def _start(device: torch.device) -> list[torch.Tensor]:
    return lenet.on(device, lenet.parameters(torch.Generator().manual_seed(0)))


def gradients(rank: int, size: int, data: Data, n: int, way: str) -> list[torch.Tensor]:
    """Returns this rank's gradients by hand, of the first n images."""
    params = _start(device_of(rank, size))
    training.whole_gradient(params, data.images[:n], data.labels[:n], WAYS[way])
    return [p.grad.cpu() for p in params]


def by_ddp(rank: int, size: int, data: Data, n: int) -> list[torch.Tensor]:
    """Returns this rank's gradients by DDP, of the first n images; all parts are equal."""
    device = device_of(rank, size)
    model = DistributedDataParallel(Net(_start(device)))
    images, labels = training.split_batch(data.images[:n], data.labels[:n], size)[rank]
    cross_entropy(model(images.to(device)), labels.to(device)).backward()
    return [p.grad.cpu() for p in model.module.params]


def disagree(rank: int, size: int, by: float) -> bool:
    """Returns whether ranks are found to hold the same, where the last differs ``by`` so much in one value."""
    mine = [torch.ones(3), torch.full((2, 2), 0.1)]
    mine[1][1, 1] += by * (rank == size - 1)
    return training.same_everywhere([t.to(device_of(rank, size)) for t in mine])


def sizes_of_parts(rank: int, size: int, n: int) -> int:
    """Returns how many of n examples this rank gets."""
    return len(training.split_batch(torch.zeros(n), torch.zeros(n), size)[rank][0])
