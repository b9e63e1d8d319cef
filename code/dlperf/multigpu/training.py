"""Data-parallel training by hand: each rank takes its part of a batch, gradients are added up, all take the same step.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from dlperf.device import synchronize
from dlperf.multigpu.datasets import Data
from dlperf.multigpu.group import device_of
from dlperf.multigpu.lenet import Params, accuracy, lenet, on, parameters
from dlperf.multigpu.reduce import AllReduce, sharded


def split_batch(
    images: Tensor,
    labels: Tensor,
    size: int,
) -> list[tuple[Tensor, Tensor]]:
    """Returns a part for each rank; no two differ by more than one."""
    parts = images.tensor_split(size), labels.tensor_split(size)
    return list(zip(*parts, strict=True))


def whole_gradient(
    params: Params,
    images: Tensor,
    labels: Tensor,
    all_reduce: AllReduce,
    group: Any = None,
) -> Tensor:
    """Leaves the gradient of the whole batch's mean loss in `.grad`.

    Returns this rank's share of that loss: the shares' sum is it.
    """
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    mine, classes = split_batch(images, labels, size)[rank]
    scores = lenet(mine.to(params[0]), params)  # only my part goes there
    classes = classes.to(scores.device)
    total = F.cross_entropy(scores, classes, reduction="sum")
    share = total / len(images)  # of the whole batch, not of my part
    share.backward()
    for weights in params:
        all_reduce(weights.grad, group)
    return share.detach()


def train_batch(
    params: Params,
    images: Tensor,
    labels: Tensor,
    lr: float,
    all_reduce: AllReduce,
    group: Any = None,
) -> Tensor:
    """Changes the parameters of this rank as all others change theirs.

    Returns this rank's share of the loss before.
    """
    share = whole_gradient(params, images, labels, all_reduce, group)
    with torch.no_grad():
        for weights in params:
            weights -= lr * weights.grad
            weights.grad = None
    return share


class Trained(NamedTuple):
    """What a rank knows after its training: mean loss and seconds of each epoch, accuracy, its parameters."""

    losses: list[float]
    seconds: list[float]
    accuracy: float
    params: list[Tensor]


def batches(data: Data, batch: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yields an epoch's batches, in an order that is the same on every rank; the last may be shorter."""
    draw = torch.Generator().manual_seed(seed)
    for rows in torch.randperm(len(data.images), generator=draw).split(batch):
        yield data.images[rows], data.labels[rows]


def train(
    rank: int,
    size: int,
    data: Data,
    epochs: int = 3,
    batch: int = 150,
    lr: float = 0.1,
    all_reduce: AllReduce = sharded,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Trained:
    """Returns what comes of training LeNet on all ranks together."""
    device = device_of(rank, size)
    params = on(device, parameters(torch.Generator().manual_seed(seed)), dtype)
    losses: list[float] = []
    seconds: list[float] = []
    for epoch in range(epochs):
        dist.barrier()
        start = perf_counter()
        loss = torch.zeros((), device=device)
        for images, labels in batches(data, batch, seed + epoch):
            share = train_batch(params, images, labels, lr, all_reduce)
            loss += share * len(images) / len(data.images)
        all_reduce(loss)
        synchronize(device)
        seconds.append(perf_counter() - start)
        losses.append(loss.item())
    right = accuracy(data.test_images.to(device, dtype), data.test_labels.to(device), params)
    return Trained(losses, seconds, right, [p.detach().cpu() for p in params])


def same_everywhere(tensors: Sequence[Tensor], group: Any = None) -> bool:
    """Returns whether all ranks hold the same values, bit for bit."""
    mine = torch.cat([t.detach().flatten() for t in tensors])
    first = mine.clone()
    dist.broadcast(first, group_src=0, group=group)
    differ = (mine != first).sum()
    dist.all_reduce(differ, group=group)
    return differ.item() == 0
