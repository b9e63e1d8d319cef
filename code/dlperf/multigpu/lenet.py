"""LeNet from raw tensors, trained on k devices that share each batch.

The chapter *Training on multiple GPUs, from scratch* has it as an exercise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod, sqrt
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from dlperf.alpha_beta import Line
from dlperf.multigpu import reduce_costs
from dlperf.multigpu.correctness import relative_error
from dlperf.multigpu.data_parallel import add_up, split_batch
from dlperf.multigpu.datasets import Data
from dlperf.multigpu.group import Crew, first, own_device

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


def train(
    rank: int,
    size: int,
    k: int,
    data: Data,
    batch: int,
    epochs: int,
    rate: float,
    dtype: torch.dtype,
) -> tuple[list[Tensor], list[float]]:
    """Trains by SGD on device `rank` of the first k, which share each
    batch; returns the parameters and the seconds of each epoch."""
    group, device = first(k), own_device()
    sum_up = partial(dist.all_reduce, group=group)
    images = data.images.to(device, dtype)
    labels = data.labels.to(device)
    params: list[Any] = []
    for p in init_params():
        params.append(p.to(device, dtype).requires_grad_())
    seconds = []
    for _ in range(epochs):
        dist.barrier(group=group)
        start = perf_counter()
        for i in range(0, len(labels), batch):
            whole = images[i : i + batch], labels[i : i + batch]
            x, y = split_batch(*whole, rank, k)
            loss = F.cross_entropy(lenet(x, params), y, reduction="sum")
            (loss / len(whole[1])).backward()
            add_up(params, sum_up)
            with torch.no_grad():
                for p in params:
                    p -= rate * p.grad
                    p.grad = None
        dist.barrier(group=group)
        seconds.append(perf_counter() - start)
    return [p.detach().cpu() for p in params], seconds


def compare(
    crew: Crew, ks: Sequence[int], data: Data, link: Line, batch: int = 64, epochs: int = 3, rate: float = 0.2
) -> dict[str, float]:
    """Returns what training on k devices took and found, by ``<name>-<k>``; one device is among the ``ks``.

    ``epoch``: the seconds of the last epoch in float32; ``sending``: the predicted seconds of its messages around a
    ring; ``accuracy`` on the test images. ``float32`` and ``float64``: the largest relative difference of any device's
    parameters from those of one device, in these numbers.
    """
    found: dict[str, float] = {}
    for dtype in (torch.float32, torch.float64):
        name = str(dtype).removeprefix("torch.")
        answers = {k: crew.first(k).run(train, k, data, batch, epochs, rate, dtype) for k in ks}
        truth = answers[1][0][0]
        for k, each in answers.items():
            found[f"{name}-{k}"] = max(relative_error(params, truth) for params, _ in each)
            if dtype == torch.float32:
                found[f"epoch-{k}"] = max(seconds[-1] for _, seconds in each)
                found[f"accuracy-{k}"] = accuracy(data.test_images, data.test_labels, each[0][0])
                size = sum(p.nbytes for p in truth)
                found[f"sending-{k}"] = -(-len(data.labels) // batch) * reduce_costs.seconds("ring", k, size, link)
    return found
