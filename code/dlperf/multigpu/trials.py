"""What each process does to try the three ways to split: a step, its time, its messages and its memory.

Every function is one of a process, ``fn(rank, size, …)``, in a `dlperf.multigpu.group.Group` or on the hosts of a
`dlperf.network.Network`. The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from statistics import median
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf.device import synchronize
from dlperf.multigpu import footprint, pipeline, traffic
from dlperf.multigpu.group import device_of
from dlperf.multigpu.splits import Grads, Sizes, Way, by_data, by_layer, share
from dlperf.network import process_group
from dlperf.spans import Span


class Silence:
    """A link over which nothing goes: with it a device computes alone."""

    def all_reduce(self, tensor: Tensor) -> None:
        """Leaves what this device has."""

    def irecv(self, tensor: Tensor, source: int) -> Any:
        """Leaves the tensor as it is."""
        return self

    isend = irecv

    def wait(self) -> None:
        """Returns at once."""


@dataclass
class Clocked:
    """PyTorch's point-to-point messages, with the spans that a device has waited for one to come."""

    waits: list[Span] = field(default_factory=list)

    def isend(self, tensor: Tensor, to: int) -> Any:
        """Begins to send."""
        return dist.isend(tensor, to)

    def irecv(self, tensor: Tensor, source: int) -> _Coming:
        """Begins to receive; returns what to wait for."""
        return _Coming(dist.irecv(tensor, source), self.waits)


@dataclass
class _Coming:
    work: Any
    waits: list[Span]

    def wait(self) -> None:
        start = perf_counter()
        self.work.wait()
        self.waits.append((start, perf_counter()))


@dataclass
class Seen:
    """When a step began, when the way back did (by network) and when it ended, by a clock that all processes share.

    ``computing`` are the spans between waits for messages, by network and on a CPU.
    """

    begin: float
    back: float
    end: float
    computing: list[Span] = field(default_factory=list)


@dataclass
class Place:
    """What a device holds of a task, and its step: ``run(link)`` returns the gradients that it has in the end.

    Those of the inputs may be in parts. ``alone(link)`` is the same for a link over which nothing goes.
    """

    device: torch.device
    run: Callable[[Any], tuple[Any, ...]]
    alone: Callable[[Any], tuple[Any, ...]]
    held: list[Tensor]
    back: float = 0.0
    done: float = 0.0


@lru_cache(maxsize=12)
def place(rank: int, size: int, way: Way, sizes: Sizes, micro_batches: int) -> Place:
    """Returns a device's place, made once; ValueError for a network of two layers on other than two devices."""
    device = torch.device("cpu") if dist.get_backend() == "gloo" else device_of(rank, size)
    whole = sizes.tensors(device)
    if way is not Way.NETWORK:
        part, step = share(way, whole, rank, size), by_data if way is Way.DATA else by_layer
        run = lambda link: step(part, sizes.n, link.all_reduce)
        return Place(device, run, run, list(part))
    if size != 2:
        raise ValueError(f"two layers are two stages, for two devices; got {size}")
    x, target, w1, w2 = whole
    weights = (w1, w2)[rank].clone().requires_grad_()
    stage = (lambda x: (x @ weights).relu_()) if rank == 0 else (lambda a: a @ weights)
    inputs = list((x if rank == 0 else torch.ones(sizes.n, sizes.h).to(x)).clone().chunk(micro_batches))
    targets = list((target if rank == 1 else torch.zeros(sizes.n, sizes.h).to(x)).clone().chunk(micro_batches))
    held = [weights, inputs[0], *([targets[0]] if rank == 1 else [])]

    def step_of(rank: int, last: int, link: Any) -> tuple[Any, ...]:
        weights.grad = None
        kept, sent = pipeline.forward(stage, inputs, rank, last, link)
        here.back = perf_counter()
        sent += pipeline.backward(kept, targets, rank, last, link)
        here.done = perf_counter()
        for each in sent:
            each.wait()
        return [x.grad for x, _ in kept], weights.grad, weights.grad

    here = Place(device, partial(step_of, rank, 1), partial(step_of, 0, 0), held)
    return here


def gradients(rank: int, size: int, way: Way, sizes: Sizes, micro_batches: int = 1) -> Grads:
    """Returns the gradients that this device has after a step: those of its rows, columns or layer."""
    process_group(rank, size)
    dx, dw1, dw2 = place(rank, size, way, sizes, micro_batches).run(dist)
    dx = torch.cat(dx) if isinstance(dx, list) else dx
    return dx.cpu(), dw1.cpu(), dw2.cpu()


def step(rank: int, size: int, way: Way, sizes: Sizes, micro_batches: int = 1) -> Seen:
    """Returns when what happened in a step, with its messages."""
    process_group(rank, size)
    here = place(rank, size, way, sizes, micro_batches)
    link = Clocked() if way is Way.NETWORK else dist
    seen = _clocked(here, lambda: here.run(link))
    if isinstance(link, Clocked) and here.device.type == "cpu":  # a GPU's work is waited for in its stream
        edges = [seen.begin, *(edge for span in link.waits for edge in span), here.done]
        seen.computing = list(zip(edges[::2], edges[1::2], strict=True))
    return seen


def alone(rank: int, size: int, way: Way, sizes: Sizes, micro_batches: int = 1) -> Seen:
    """Returns when what happened in a step without messages, which all devices take at the same time."""
    process_group(rank, size)
    here = place(rank, size, way, sizes, micro_batches)
    return _clocked(here, lambda: here.alone(Silence()))


def _clocked(here: Place, run: Callable[[], Any]) -> Seen:
    dist.barrier()
    synchronize(here.device)
    here.back, begin = 0.0, perf_counter()
    run()
    synchronize(here.device)
    end = perf_counter()
    return Seen(begin, here.back or end, end)


def counted(rank: int, size: int, way: Way, sizes: Sizes, micro_batches: int = 1, steps: int = 2) -> float:
    """Returns the bytes that host ``rank`` sends in a step, headers and acknowledgements included."""
    process_group(rank, size)
    here = place(rank, size, way, sizes, micro_batches)
    dist.barrier()
    before = traffic.sent()
    for _ in range(steps):
        here.run(dist)
    dist.barrier()  # all that was sent has come, so it has left
    after = traffic.sent()
    dist.barrier()
    return (after - before) / steps


def peak(rank: int, size: int, way: Way, sizes: Sizes, micro_batches: int = 1) -> int:
    """Returns the most bytes of tensors that this device has at once in a step."""
    process_group(rank, size)
    here = place(rank, size, way, sizes, micro_batches)
    for tensor in here.held:
        tensor.grad = None  # that of the step before
    return footprint.peak(lambda: here.run(dist), here.device, *here.held)


def latency(rank: int, size: int, count: int = 30) -> float:
    """Returns the seconds of a message of one number from device 0 to device 1: half of the way there and back."""
    process_group(rank, size)
    device = torch.device("cpu") if dist.get_backend() == "gloo" else device_of(rank, size)
    token, trips = torch.zeros(1, device=device), []
    for _ in range(count if rank < 2 else 0):
        start = perf_counter()
        for sender in (0, 1):
            dist.send(token, 1 - rank) if rank == sender else dist.recv(token, 1 - rank)
        synchronize(device)
        trips.append((perf_counter() - start) / 2)
    return median(trips) if trips else 0.0
