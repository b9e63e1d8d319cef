"""What the tests of the ways to split have processes do, in a module that a process imports quickly."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import nn

from dlperf.multigpu import footprint, pipeline, splits
from dlperf.multigpu.split_steps import gradients as gradients
from dlperf.multigpu.splits import Grads, Sizes, Strategy


def oracle(sizes: Sizes) -> Any:
    """Returns the gradients that autograd finds on one device."""
    x, target, w1, w2 = sizes.tensors()
    leaves = [t.requires_grad_() for t in (x, w1, w2)]
    loss = ((torch.relu(x @ w1) @ w2 - target) ** 2).sum() / 2 / sizes.rows
    return torch.autograd.grad(loss, leaves)


def split(rank: int, size: int, strategy: Strategy, sizes: Sizes) -> Grads:
    """Returns what this device's step by data or by layer returns."""
    part = splits.share(strategy, sizes.tensors(), rank, size)
    return (splits.by_data if strategy is Strategy.DATA else splits.by_layer)(part, sizes.rows)


def stages(widths: list[int]) -> list[nn.Module]:
    """Returns layers of these widths, the same everywhere, the last one without ReLU."""
    torch.manual_seed(0)
    made = [nn.Linear(a, b, dtype=torch.float64) for a, b in pairwise(widths)]
    return [nn.Sequential(layer, nn.ReLU()) for layer in made[:-1]] + [made[-1]]


def drawn(widths: list[int], rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns inputs and targets of so many rows."""
    draw = torch.Generator().manual_seed(1)
    x, target = (torch.randn(rows, w, dtype=torch.float64, generator=draw) for w in (widths[0], widths[-1]))
    return x, target


def through_stages(rank: int, size: int, widths: list[int], rows: list[int]) -> tuple[list[Any], list[Any]]:
    """Returns the gradients of this stage's weights, and those of its inputs, for micro-batches of so many ``rows``."""
    x, target = drawn(widths, sum(rows))
    stage = stages(widths)[rank]
    inputs = list(x.split(rows)) if rank == 0 else [torch.empty(n, widths[rank], dtype=torch.float64) for n in rows]
    passed, sent = pipeline.forward(stage, inputs, rank, size - 1)
    sent += pipeline.backward(passed, target.split(rows), rank, size - 1)
    for each in sent:
        each.wait()
    return [p.grad for p in stage.parameters()], [x.grad for x, _ in passed]


def whole(widths: list[int], rows: list[int]) -> tuple[list[list[Any]], Any]:
    """Returns what one process finds by autograd: the gradients of each stage's weights, and those of the inputs."""
    x, target = drawn(widths, sum(rows))
    x.requires_grad_()
    net = nn.Sequential(*stages(widths))
    (((net(x) - target) ** 2).sum() / 2 / len(x)).backward()
    return [[p.grad for p in stage.parameters()] for stage in net], x.grad


def peak_of_two(megabytes: int) -> int:
    """Returns the peak of a function that makes two tensors one after the other, beside one that it held before."""
    held = torch.ones(2**18)

    def two() -> None:
        first = torch.ones(megabytes * 2**18)
        del first
        torch.ones(megabytes * 2**18) + 1

    return footprint.peak(two, torch.device("cpu"), held, held[:10])
