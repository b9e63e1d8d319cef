"""One network, run in every way there is."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Forward = Callable[[torch.Tensor], torch.Tensor]

MODES = ("default", "reduce-overhead")
"""Modes of `torch.compile`: the second uses CUDA graphs."""


def separate(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a copy of ``fn`` with code of its own, since that is where PyTorch keeps what it has compiled."""
    return types.FunctionType(fn.__code__.replace(), fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


def compiled(net: nn.Module, mode: str = "default") -> Forward:
    """Returns the network compiled anew for each shape that it meets."""
    return torch.compile(separate(lambda x: net(x)), mode=mode, dynamic=False)


def captured(net: nn.Module) -> Forward:
    """Returns the network as `torch.compile` enters it, with all guards, and then with the operators of before."""
    return torch.compile(separate(lambda x: net(x)), backend="eager", dynamic=False)


def scripted(net: nn.Module) -> Forward:
    """Returns the network in TorchScript. It is deprecated and warns of that, which is not repeated here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(net)
