"""Run one process's step of data, tensor or pipeline parallelism, and trace its waits, bytes sent and memory.

Every function is one of a process, ``fn(rank, size, …)``, of `dlperf.multigpu.group.devices`. The chapter *Training on
multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf.device import is_gpu, synchronize
from dlperf.multigpu import footprint, pipeline, traffic
from dlperf.multigpu.group import own_device
from dlperf.multigpu.splits import Case, Grads, Part, Sizes, Strategy, by_data, by_layer, share
from dlperf.spans import Span


@dataclass
class Link:
    """PyTorch's messages, with the moments at which a device began and ceased to wait for each.

    On a GPU these are events of its stream: the processor does not wait.
    """

    device: torch.device
    moments: list[tuple[Any, Any]] = field(default_factory=list)

    def now(self) -> Any:
        """Returns this moment: of the clock or, on a GPU, of its stream."""
        if not is_gpu(self.device):
            return perf_counter()
        event = torch.get_device_module(self.device).Event(enable_timing=True)
        event.record()
        return event

    def await_(self, fn: Callable[[], Any]) -> None:
        """Calls what waits for a message."""
        start = self.now()
        fn()
        self.moments.append((start, self.now()))

    def all_reduce(self, tensor: Tensor) -> None:
        """Adds up a tensor over all devices, in place."""
        self.await_(lambda: dist.all_reduce(tensor))

    def isend(self, tensor: Tensor, to: int) -> Message:
        """Begins to send; returns what to wait for."""
        return Message(self, dist.isend(tensor, to))

    def irecv(self, tensor: Tensor, source: int) -> Message:
        """Begins to receive; returns what to wait for."""
        return Message(self, dist.irecv(tensor, source))


@dataclass
class Message:
    """A message that is under way on a link."""

    link: Link
    work: Any

    def wait(self) -> None:
        """Waits for the message."""
        self.link.await_(self.work.wait)


@dataclass
class Place:
    """What a device holds of a case, and its step: ``run(link)`` returns the gradients that it has in the end.

    By network those of the inputs are a list, of each micro-batch.
    """

    device: torch.device
    run: Callable[[Any], tuple[Any, ...]]
    held: Sequence[Tensor]


@lru_cache(maxsize=1)
def _whole(sizes: Sizes, device: torch.device) -> Part:
    return sizes.tensors(device)


@lru_cache(maxsize=16)
def place(rank: int, size: int, case: Case) -> Place:
    """Returns a device's place, made once. Raises ValueError if two layers are split over other than two devices."""
    device = own_device()
    whole = _whole(case.sizes, device)
    if case.strategy is Strategy.NETWORK:
        return _stage(rank, size, case, whole, device)
    part, step = share(case.strategy, whole, rank, size), by_data if case.strategy is Strategy.DATA else by_layer
    return Place(device, lambda link: step(part, case.sizes.rows, link.all_reduce), part)


def _stage(rank: int, size: int, case: Case, whole: Sequence[Tensor], device: torch.device) -> Place:
    """Returns the place of a device that has one of two layers."""
    if size != 2:
        raise ValueError(f"two layers are two stages, for two devices; got {size}")
    x, target, w1, w2 = whole
    weights = (w1, w2)[rank].clone().requires_grad_()
    stage = (lambda x: (x @ weights).relu_()) if rank == 0 else (lambda a: a @ weights)
    rows = [len(chunk) for chunk in x.chunk(case.micro_batches)]
    inputs = x.clone().split(rows) if rank == 0 else [x.new_empty(n, case.sizes.hidden) for n in rows]
    targets = target.clone().split(rows) if rank == 1 else ()

    def run(link: Any) -> tuple[Any, ...]:
        weights.grad = None
        passed, sent = pipeline.forward(stage, inputs, rank, 1, link)
        sent += pipeline.backward(passed, targets, rank, 1, link)
        for message in sent:
            message.wait()
        return [x.grad for x, _ in passed], weights.grad, weights.grad

    return Place(device, run, [weights, *inputs, *targets])


def gradients(rank: int, size: int, case: Case) -> Grads:
    """Returns the gradients that this device has after a step, on the CPU: those of its rows, columns or layer."""
    dx, dw1, dw2 = place(rank, size, case).run(dist)
    dx = torch.cat(dx) if isinstance(dx, list) else dx
    return dx.cpu(), dw1.cpu(), dw2.cpu()


@dataclass
class Trace:
    """When a step began and ended, by a clock that all processes share, the spans of waiting in it, and bytes sent."""

    begin: float
    end: float
    waits: list[Span]
    sent: int = 0

    @property
    def computing(self) -> list[Span]:
        """The spans between waits."""
        edges = [self.begin, *(edge for span in self.waits for edge in span), self.end]
        return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if end > start]


def step(rank: int, size: int, case: Case, kind: str = "core") -> Trace:
    """Returns the trace of a step; the bytes that left this device only if it is of the ``kind`` "host"."""
    here = place(rank, size, case)
    counted = traffic.sent if kind == "host" else int
    link = Link(here.device)
    dist.barrier()
    before = counted()
    synchronize(here.device)
    dist.barrier()
    begin, origin = perf_counter(), link.now()
    here.run(link)
    synchronize(here.device)
    end = perf_counter()
    dist.barrier()  # all that was sent has come, so it has left
    return Trace(begin, end, _spans(link, begin, origin), counted() - before)


def _spans(link: Link, begin: float, origin: Any) -> list[Span]:
    """Returns the waits of a link by the clock, on which ``origin`` was at ``begin``."""
    if not is_gpu(link.device):
        return link.moments
    at = lambda moment: begin + origin.elapsed_time(moment) / 1e3
    return [(at(start), at(end)) for start, end in link.moments]


def peak(rank: int, size: int, case: Case) -> int:
    """Returns the most bytes of tensors that this device has at once in a step."""
    here = place(rank, size, case)
    for tensor in here.held:
        tensor.grad = None  # that of the step before
    return footprint.peak(lambda: here.run(dist), here.device, *here.held)
