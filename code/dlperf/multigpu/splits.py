"""A step of two layers on several devices, by hand: the batch split, or each layer, with the sums in between.

The third strategy, by network, is `dlperf.multigpu.pipeline`. The chapter *Training on multiple GPUs, from scratch*
tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor
from torch.distributed import all_reduce

Part = tuple[Tensor, Tensor, Tensor, Tensor]
"""Inputs, targets and both weights, or what a device has of them."""
Grads = tuple[Tensor, Tensor, Tensor]
"""Those of the inputs, of the first layer's weights and of the second's."""
Sum = Callable[[Tensor], Any]
"""Adds up a tensor over all devices, in place."""


class Strategy(StrEnum):
    """What is split: the batch into rows, each layer into columns or rows, the network into layers."""

    DATA = "by data"
    LAYER = "by layer"
    NETWORK = "by network"


@dataclass(frozen=True)
class Sizes:
    """``rows`` of ``width`` values, which two layers make ``hidden`` values and ``width`` again, in one ``dtype``."""

    rows: int = 512
    width: int = 4096
    hidden: int = 512
    dtype: torch.dtype = torch.float32

    def tensors(self, device: torch.device | str = "cpu") -> Part:
        """Returns inputs, targets and both weights: the same on every device and, but for rounding, in every type."""
        n, d, h = self.rows, self.width, self.hidden
        draw = torch.Generator().manual_seed(0)
        x, target, w1, w2 = (
            torch.randn(shape, dtype=torch.float64, generator=draw) for shape in ((n, d), (n, d), (d, h), (h, d))
        )
        tensors = x, target, w1 / d**0.5, w2 / h**0.5
        x, target, w1, w2 = (tensor.to(device, self.dtype) for tensor in tensors)
        return x, target, w1, w2


@dataclass(frozen=True)
class Case:
    """A strategy, what it splits, and into how many micro-batches; ``key`` names it, such as ``network-8``."""

    strategy: Strategy
    sizes: Sizes
    micro_batches: int = 1

    @property
    def key(self) -> str:
        """The strategy's name in lower case; by network with the number of micro-batches."""
        name = self.strategy.name.lower()
        return f"{name}-{self.micro_batches}" if self.strategy is Strategy.NETWORK else name


def step(part: Part, rows: int) -> Grads:
    """Returns the gradients of half the squared error, over rows."""
    x, target, w1, w2 = part
    a = (x @ w1).relu_()
    dy = (a @ w2 - target) / rows
    da = (dy @ w2.T).mul_(a > 0)
    return da @ w1.T, x.T @ da, a.T @ dy


def by_data(part: Part, rows: int, add: Sum = all_reduce) -> Grads:
    """Returns those of `step`; this device has some of the rows."""
    dx, dw1, dw2 = step(part, rows)
    add(dw1)  # each device has a summand
    add(dw2)
    return dx, dw1, dw2


def by_layer(part: Part, rows: int, add: Sum = all_reduce) -> Grads:
    """Returns those of `step`; w1 is some columns, w2 the same rows."""
    x, target, w1, w2 = part
    a = (x @ w1).relu_()
    y = a @ w2
    add(y)  # each device has a summand of all of y
    dy = y.sub_(target).div_(rows)
    da = (dy @ w2.T).mul_(a > 0)
    dx = da @ w1.T
    add(dx)  # and of all of dx
    return dx, x.T @ da, a.T @ dy


def share(strategy: Strategy, whole: Part, rank: int, size: int) -> Part:
    """Returns what device ``rank`` of ``size`` has if split by data or by layer; ValueError by network."""
    x, target, w1, w2 = whole
    cut = lambda t, dim: t.tensor_split(size, dim)[rank].clone(memory_format=torch.contiguous_format)
    if strategy is Strategy.DATA:
        return cut(x, 0), cut(target, 0), w1, w2
    if strategy is Strategy.LAYER:
        return x, target, cut(w1, 1), cut(w2, 0)
    raise ValueError(f"a share is by data or by layer, got {strategy}: there each device has layers of its own")


def join(strategy: Strategy, parts: Sequence[Grads]) -> Grads:
    """Returns the gradients of the whole, from those that the devices have, in the order of their ranks."""
    dx, dw1, dw2 = zip(*parts, strict=True)
    if strategy is Strategy.DATA:
        return torch.cat(dx), dw1[0], dw2[0]
    if strategy is Strategy.LAYER:
        return dx[0], torch.cat(dw1, 1), torch.cat(dw2)
    return dx[0], dw1[0], dw2[-1]
