"""A training step of the GPT in a group of processes: what it computes, holds, asks of the group, sends and takes.

A way to train is a function ``make(task, rank, size)`` that returns a `Trainer`; `dlperf.concise.sharded` has them.
The functions here run in processes, of a `Group` or of a `Network`. The chapter *Multiple GPUs, concisely* tells
the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.nn.functional import cross_entropy

from dlperf.concise import memory
from dlperf.concise.calls import Calls, transmitted
from dlperf.concise.zero import Bytes
from dlperf.device import synchronize
from dlperf.models import gpt, text
from dlperf.multigpu.group import Group, device_of
from dlperf.network import Network, process_group, unavailable

SIZE = gpt.Size(len(text.CHARACTERS), context=128, layers=4, heads=4, width=256)
"""A GPT of 3.2 million parameters."""


@dataclass(frozen=True)
class Task:
    """A GPT of ``size`` that all processes together train on ``batch`` pieces of the excerpt."""

    size: gpt.Size = SIZE
    batch: int = 4

    def model(self, device: torch.device) -> gpt.GPT:
        """Returns the GPT, the same one everywhere."""
        torch.manual_seed(0)
        return gpt.GPT(self.size).to(device)

    def data(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Returns the whole batch: texts, and what follows each character."""
        return text.batch(self.batch, self.size.context, device)

    def parameters(self) -> int:
        """Returns how many numbers the GPT learns."""
        with torch.device("meta"):
            return sum(p.numel() for p in gpt.GPT(self.size).parameters())


def mean_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Returns the cross-entropy loss of scores (batch, time, vocabulary) for the targets (batch, time)."""
    return cross_entropy(scores.flatten(0, -2), targets.flatten())


@dataclass
class Trainer:
    """What a process trains: ``backward`` leaves gradients and returns the loss of what this process has computed."""

    model: nn.Module
    optimizer: Any
    backward: Callable[[], Tensor]

    def update(self) -> None:
        """Changes the weights and drops the gradients."""
        self.optimizer.step()
        self.optimizer.zero_grad()

    def step(self) -> Tensor:
        """Changes the weights once and returns the loss before it."""
        loss = self.backward()
        self.update()
        return loss


Make = Callable[[Task, int, int], Trainer]
"""A way to train, as a function of a module: the ``rank`` and ``size`` of a process -> what it trains."""

_kept: dict[tuple[Make, Task], Trainer] = {}


@contextmanager
def processes(k: int) -> Iterator[Callable[..., list[Any]]]:
    """Yields a function that has ``fn(rank, k, *args)`` run in ``k`` processes at once.

    They are hosts with links of 1 Gbit/s where the system can have such, else those of a `Group`.
    """
    if unavailable():
        with Group(k) as group:
            yield group.run
    else:
        with Network(k) as network:
            yield lambda fn, *args: network.run(fn, k, *args)


def here(rank: int, size: int) -> torch.device:
    """Returns the device of a process, one from which its process group can send."""
    return torch.device("cpu") if dist.get_backend() == "gloo" else device_of(rank, size)


@dataclass
class Seen:
    """What a process saw of the first steps of a way.

    ``losses`` are those before each step, ``gradient`` the first step's, by the names of those parameters that are
    here. ``held`` is the model's state in bytes: parameters as they are between the forward and the backward pass,
    gradients and the optimizer's state as they are after it. ``number`` and ``nbytes`` are what a step asked of the
    process group, by operation; ``wire``, the bytes that left the host in it.
    """

    losses: list[float]
    gradient: dict[str, Tensor]
    held: Bytes
    number: dict[str, int]
    nbytes: dict[str, int]
    wire: int


def look(rank: int, size: int, make: Make, task: Task) -> Seen:
    """Returns what process ``rank`` sees of three steps: the last is counted, when nothing is left to be arranged."""
    process_group(rank, size)
    made = _kept[make, task] = make(task, rank, size)
    losses = [made.backward()]
    gradient = {name.removeprefix("module."): _whole(p.grad) for name, p in made.model.named_parameters()}
    made.update()
    losses.append(made.step())
    between: list[int] = []
    note = made.model.register_forward_hook(lambda *_: between.append(memory.nbytes(made.model.parameters())))
    dist.barrier()
    before = transmitted()
    with Calls() as calls:
        losses.append(made.backward())
        held = memory.held(made.model, made.optimizer)
        made.update()
    note.remove()
    if between[0] != held.parameters:  # gathered, and the shards that they were gathered from are there too
        held = replace(held, parameters=between[0] + held.parameters)
    dist.barrier()
    wire = transmitted() - before
    return Seen([float(loss) for loss in losses], gradient, held, calls.number, calls.nbytes, wire)


def _whole(gradient: Any) -> Tensor:
    """Returns a gradient as one tensor of the CPU; zero-dimensional where there is none."""
    if gradient is None:
        return torch.zeros(())
    whole = gradient.full_tensor() if isinstance(gradient, DTensor) else gradient
    return whole.detach().cpu().clone()


def away(found: dict[str, Tensor], right: dict[str, Tensor]) -> float:
    """Returns how far gradients are at most from the right ones, over the largest value of those."""
    largest = max(float(g.abs().max()) for g in right.values())
    return max(float((g - right[name]).abs().max()) for name, g in found.items()) / largest


def most(rank: int, size: int, make: Make, task: Task) -> int:
    """Returns the most bytes of tensors that are alive in a step, beyond those before it, after `look`."""
    process_group(rank, size)
    peak, _ = memory.allocated(_kept[make, task].step, here(rank, size))
    return peak


def timed(rank: int, size: int, make: Make, task: Task) -> float:
    """Returns the seconds of a step, from everybody's start to everybody's end, after `look`."""
    process_group(rank, size)
    made = _kept[make, task]
    dist.barrier()
    start = perf_counter()
    made.step()
    synchronize(here(rank, size))
    dist.barrier()
    return perf_counter() - start
