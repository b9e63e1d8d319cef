"""One network, run in every way there is."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

import torch
from torch import nn
from torch.utils import benchmark

from dlperf import breakdown, profiles
from dlperf.device import has_cuda
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import interleave

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


def products_and_rest(
    ways: Mapping[str, Forward],
    x: torch.Tensor,
    repeats: int = 9,
    num_threads: int | None = None,
    device: torch.device | str = "cpu",
) -> tuple[dict[str, Measurement], dict[str, Measurement]]:
    """Returns the seconds of one call of each way on ``x`` in products, and those in all else, by a profiler, in turn.

    Each sample is of one call, the third in a row of its kind. ``num_threads`` is as in `compare`.
    """

    def profiled(way: Forward) -> tuple[float, float]:
        [seen] = profiles.traces(lambda: way(x), device, steps=1, warm_up=2)
        products, whole = breakdown.parts(seen, has_cuda(device))["products"], profiles.length(seen)
        return products * whole, (1 - products) * whole

    with benchmark.set_torch_threads(num_threads or torch.get_num_threads()):
        taken = interleave({name: partial(profiled, way) for name, way in ways.items()}, repeats)
    env = environment(device)
    each = [
        {name: side.measurement(itemgetter(n), "s", name, environment=env) for name, side in taken.items()}
        for n in range(2)
    ]
    return each[0], each[1]
