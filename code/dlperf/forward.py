"""One network, run in every way there is."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn
from torch._inductor.utils import run_and_get_code

from dlperf.measurement import Measurement
from dlperf.timing import compare

Forward = Callable[[torch.Tensor], torch.Tensor]

MODES = ("default", "reduce-overhead", "max-autotune")
"""Modes of `torch.compile`: the second uses CUDA graphs, the third also tries several kernels for one product."""


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


def program(net: nn.Module, x: torch.Tensor, mode: str = "default") -> list[str]:
    """Returns the lines that `torch.compile` generates for ``x``, without comments, checks and empty ones."""
    _, sources = run_and_get_code(compiled(net, mode), x)
    lines = "\n".join(sources).splitlines()
    return [line for line in lines if line and not line.startswith("#") and "assert_size_stride" not in line]


def modes(net: nn.Module, x: torch.Tensor) -> list[str]:
    """Returns the modes worth measuring: on a CPU only those that generate another program than the default."""
    if x.is_cuda:
        return list(MODES)
    plain = program(net, x)
    return ["default", *(mode for mode in MODES[1:] if program(net, x, mode) != plain)]


def over_batches(
    ways: Mapping[str, Forward], relus: Sequence[int], batches: Sequence[int], device: torch.device, repeats: int = 21
) -> dict[int, dict[str, Measurement]]:
    """Returns, for each batch size, the time per forward in s of each way, taken in turn, on input ``(batch, 512)``.

    ``ReLU`` is the time of these operators alone, on tensors of so many columns as ``relus`` says. Whatever a way
    compiles, it has compiled before.
    """
    found = {}
    for batch in batches:
        x = torch.randn(batch, 512, device=device)
        hidden = [torch.randn(batch, width, device=device) for width in relus]
        calls: dict[str, Callable[[], Any]] = {name: partial(way, x) for name, way in ways.items()}
        calls["ReLU"] = partial(lambda tensors: [torch.relu(h) for h in tensors], hidden)
        for call in (*calls.values(), *calls.values()):
            call()
        found[batch] = compare(calls, repeats=repeats, device=device)
    return found
