"""Server-side updaters, which apply what workers push to a value: sum, SGD, momentum and Adam.

A step changes the value in place. It is given whole tensors, or only those rows of a table that were pushed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated

import msgspec
import torch
from torch import Tensor

Rate = Annotated[float, msgspec.Meta(gt=0)]
Decay = Annotated[float, msgspec.Meta(ge=0, lt=1)]


class Updater(msgspec.Struct, frozen=True, tag=True, array_like=True, forbid_unknown_fields=True):
    """How a push changes a value; ``slots`` names the tensors of the value's shape that it keeps beside it."""

    @property
    def slots(self) -> tuple[str, ...]:
        return ()

    def step(self, value: Tensor, push: Tensor, slots: Mapping[str, Tensor], steps: int) -> None:
        """Changes a value in place. ``steps`` counts this step too, from 1."""
        raise NotImplementedError


class Sum(Updater, frozen=True):
    """Adds what is pushed; the only one that takes whole numbers."""

    def step(self, value: Tensor, push: Tensor, slots: Mapping[str, Tensor], steps: int) -> None:
        value.add_(push)


class SGD(Updater, frozen=True):
    """Takes a step against the gradient."""

    lr: Rate

    def step(self, value: Tensor, push: Tensor, slots: Mapping[str, Tensor], steps: int) -> None:
        value.sub_(push, alpha=self.lr)


class Momentum(Updater, frozen=True):
    """Takes a step against a decaying sum of gradients, as `torch.optim.SGD` with ``momentum`` does."""

    lr: Rate
    momentum: Decay = 0.9

    @property
    def slots(self) -> tuple[str, ...]:
        return ("velocity",)

    def step(self, value: Tensor, push: Tensor, slots: Mapping[str, Tensor], steps: int) -> None:
        velocity = slots["velocity"].mul_(self.momentum).add_(push)
        value.sub_(velocity, alpha=self.lr)


class Adam(Updater, frozen=True):
    """Takes the step of Kingma and Ba, Adam, ICLR 2015, algorithm 1; rows of a table count the table's steps."""

    lr: Rate
    beta1: Decay = 0.9
    beta2: Decay = 0.999
    eps: Rate = 1e-8

    @property
    def slots(self) -> tuple[str, ...]:
        return ("mean", "square")

    def step(self, value: Tensor, push: Tensor, slots: Mapping[str, Tensor], steps: int) -> None:
        mean = slots["mean"].lerp_(push, 1 - self.beta1)
        square = slots["square"].mul_(self.beta2).addcmul_(push, push, value=1 - self.beta2)
        scale = (square / (1 - self.beta2**steps)).sqrt_().add_(self.eps)
        value.addcdiv_(mean, scale, value=-self.lr / (1 - self.beta1**steps))


Any_ = Sum | SGD | Momentum | Adam
"""All of them, as a message's field."""


@cache
def check(updater: Updater, dtype: torch.dtype) -> None:
    """Raises ValueError where a type of numbers cannot be stepped, or not with such a rate: it takes a step and sees.

    So a step that `Updater.step` takes later raises nothing.
    """
    if not isinstance(updater, Sum) and not dtype.is_floating_point:
        raise ValueError(f"{type(updater).__name__} makes steps of fractions, so it needs floating point, got {dtype}")
    one = torch.ones(1, dtype=dtype)
    try:
        updater.step(one.clone(), one, {name: one.clone() for name in updater.slots}, 1)
    except RuntimeError as error:
        raise ValueError(f"{updater} cannot take a step with {dtype}: {error}") from None
