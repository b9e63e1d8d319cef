"""Is the gradient of k ranks that of one device? What each rank finds, done right and by the mean of means.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from dlperf.multigpu.datasets import Data
from dlperf.multigpu.group import device_of
from dlperf.multigpu.lenet import Params, lenet, on, parameters
from dlperf.multigpu.reduce import WAYS, AllReduce, first, sharded, through_one
from dlperf.multigpu.training import same_everywhere, split_batch, train_batch, whole_gradient

Gradient = Callable[..., Tensor]
"""Leaves a gradient in ``.grad``, as `dlperf.multigpu.training.whole_gradient` does."""


def mean_of_means(
    params: Params,
    images: Tensor,
    labels: Tensor,
    all_reduce: AllReduce,
    group: Any = None,
) -> Tensor:
    """Leaves the mean of the ranks' own mean gradients in `.grad`."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    mine, classes = split_batch(images, labels, size)[rank]
    scores = lenet(mine.to(params[0]), params)
    classes = classes.to(scores.device)
    loss = F.cross_entropy(scores, classes)  # of my part
    loss.backward()
    for weights in params:
        all_reduce(weights.grad, group)
        weights.grad /= size
    return loss.detach()


def alone(params: Params, images: Tensor, labels: Tensor) -> list[Tensor]:
    """Returns the gradient of the whole batch's mean loss on one device."""
    loss = F.cross_entropy(lenet(images, params), labels)
    return list(torch.autograd.grad(loss, params))


def relative_error(found: Sequence[Tensor], right: Sequence[Tensor]) -> float:
    """Returns how long the difference of two gradients is, over the length of the right one: all tensors together."""
    mine, true = (torch.cat([t.double().flatten() for t in each]) for each in (found, right))
    return float((mine - true).norm() / true.norm())


@torch.backends.cudnn.flags(enabled=True, allow_tf32=False)  # float32 is to be float32
def errors(
    rank: int,
    size: int,
    data: Data,
    ranks: Sequence[int],
    batches: Sequence[int],
    dtype: torch.dtype,
    gradient: Gradient,
    ways: Sequence[AllReduce] = (sharded,),
) -> dict[tuple[int, int], float]:
    """Returns the relative error of this rank's gradient, by the number k of ``ranks`` and the size of the batch.

    It is held against the whole batch's on one device in float64; of several ``ways`` to reduce the worst counts. The
    first k ranks take part; the others have no entry for that k.
    """
    device = device_of(rank, size)
    start = parameters(torch.Generator().manual_seed(0))
    found: dict[tuple[int, int], float] = {}
    for n in batches:
        images, labels = data.images[:n], data.labels[:n]
        right = alone(on(device, start, torch.float64), images.to(device, torch.float64), labels.to(device))
        for k in ranks:
            group = first(k)
            if rank >= k:
                continue
            for all_reduce in ways:
                params = on(device, start, dtype)
                gradient(params, images.to(dtype), labels, all_reduce, group)
                error = relative_error([p.grad for p in params if p.grad is not None], right)
                found[k, n] = max(error, found.get((k, n), 0.0))
    return found


def compared(
    rank: int, size: int, data: Data, ranks: Sequence[int], batches: Sequence[int]
) -> dict[str, dict[tuple[int, int], float]]:
    """Returns the `errors` of the sum in float64 and float32, and of the mean of means in float64.

    Of the latter for batches that leave no rank without an example: the mean of none is no number.
    """
    full = [n for n in batches if n >= max(ranks)]
    return {
        "float64": errors(rank, size, data, ranks, batches, torch.float64, whole_gradient, tuple(WAYS.values())),
        "float32": errors(rank, size, data, ranks, batches, torch.float32, whole_gradient),
        "means": errors(rank, size, data, ranks, full, torch.float64, mean_of_means),
    }


def worst(found: Sequence[dict[tuple[int, int], float]]) -> dict[tuple[int, int], float]:
    """Returns the largest error of all ranks, by the number of ranks and the size of the batch."""
    return {key: max(rank[key] for rank in found if key in rank) for key in found[0]}


def to_a_copy(tensor: Tensor, group: Any = None) -> None:
    """Adds up a tensor over all ranks, with a classic bug."""
    total = tensor.clone()
    through_one(total, group)
    if dist.get_rank(group) == 0:
        tensor.copy_(total)
    else:
        tensor = total.to(tensor.device)


def drift(rank: int, size: int, data: Data, all_reduce: AllReduce, steps: int) -> tuple[list[bool], list[Tensor]]:
    """Returns after each of so many steps: whether all ranks held the same weights, and W4 of this rank."""
    params = on(device_of(rank, size), parameters(torch.Generator().manual_seed(0)))
    same, weights = [], []
    for n in range(steps):
        rows = slice(100 * n, 100 * (n + 1))
        train_batch(params, data.images[rows], data.labels[rows], 0.1, all_reduce)
        same.append(same_everywhere(params))
        weights.append(params[-2].detach().cpu().clone())
    return same, weights


def drifts(rank: int, size: int, data: Data, steps: int) -> dict[str, tuple[list[bool], list[Tensor]]]:
    """Returns how ranks `drift` where the sum reaches all of them, and where it reaches a copy."""
    return {way.__name__: drift(rank, size, data, way, steps) for way in (sharded, to_a_copy)}
