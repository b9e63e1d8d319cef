"""LeNet from raw tensors, trained on k devices that share each batch.

The chapter *Training on multiple GPUs, from scratch* has it as an exercise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod, sqrt
from time import perf_counter
from typing import NamedTuple

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from dlperf.multigpu.data_parallel import add_up, split_batch
from dlperf.multigpu.datasets import Data
from dlperf.multigpu.group import first, own_device

SHAPES = (20, 1, 3, 3), (50, 20, 5, 5), (800, 128), (128, 10)
"""The shapes of the weights: filters of two convolutions, matrices of two layers. Each has a bias."""


def init_params(seed: int = 0) -> list[Tensor]:
    """Returns weights and biases in turn, W1, b1, …, W4, b4, in float32 on the CPU, the same for the same seed.

    Weights are normal with variance 2 over the number of inputs, biases zero. Source: He et al., Delving deep into
    rectifiers, ICCV 2015, section 2.2.
    """
    draw = torch.Generator().manual_seed(seed)
    params = []
    for shape in SHAPES:
        inputs, outputs = (prod(shape[1:]), shape[0]) if len(shape) == 4 else shape
        params += [torch.randn(shape, generator=draw) * sqrt(2 / inputs), torch.zeros(outputs)]
    return params


def lenet(images: Tensor, params: Sequence[Tensor]) -> Tensor:
    """Returns ten scores for each image of 28 x 28."""
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    x = F.avg_pool2d(F.relu(F.conv2d(images, W1, b1)), 2)
    x = F.avg_pool2d(F.relu(F.conv2d(x, W2, b2)), 2).flatten(1)
    return F.relu(x @ W3 + b3) @ W4 + b4


@torch.no_grad()
def accuracy(images: Tensor, labels: Tensor, params: Sequence[Tensor]) -> float:
    """Returns for which share of the images the right class has the highest score."""
    return (lenet(images, params).argmax(1) == labels).float().mean().item()


class Trained(NamedTuple):
    """What a device has after training: parameters on the CPU, and the seconds of each epoch."""

    params: list[Tensor]
    epochs: list[float]


def train(rank: int, size: int, k: int, data: Data, batch: int, epochs: int, rate: float) -> Trained:
    """Trains on device ``rank`` of the first ``k``, which share each batch; the rate is that of SGD."""
    group, device = first(k), own_device()
    all_reduce = partial(dist.all_reduce, group=group)
    params = [each.to(device).requires_grad_() for each in init_params()]
    images, labels = data.images.to(device), data.labels.to(device)
    seconds = []
    for _ in range(epochs):
        dist.barrier(group=group)
        start = perf_counter()
        for whole in zip(images.split(batch), labels.split(batch), strict=True):
            inputs, targets = split_batch(*whole, rank, k)
            loss = F.cross_entropy(lenet(inputs, params), targets, reduction="sum")
            (loss / len(whole[1])).backward()
            add_up(params, all_reduce)
            with torch.no_grad():
                for each in params:
                    each -= rate * each.grad
                    each.grad = None
        dist.barrier(group=group)
        seconds.append(perf_counter() - start)
    return Trained([each.detach().cpu() for each in params], seconds)
