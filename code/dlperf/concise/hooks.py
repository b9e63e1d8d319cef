"""What DistributedDataParallel lets one change: when gradients are sent, in which buckets, and as what.

The chapter *Multiple GPUs, concisely* tells the story. Annotations are not postponed here: DDP refuses a hook whose
bucket is annotated by a string.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from dlperf.concise.ddp import error, loss_of, own_device, part, vector
from dlperf.models import steps
from dlperf.network import process_group_beside
from dlperf.parallel.gradients import Step

Part = tuple[Tensor, Tensor]
"""Inputs and targets."""


def bf16(state: Any, bucket: dist.GradBucket) -> Future[Tensor]:
    """Averages a bucket over all processes, sent as bfloat16."""
    short = (bucket.buffer() / dist.get_world_size()).bfloat16()
    sent = dist.all_reduce(short, async_op=True).get_future()
    return sent.then(lambda done: bucket.buffer().copy_(done.value()[0]))


def accumulate(model: Any, parts: Sequence[Part]) -> None:
    """Leaves the mean gradient of all parts, of one size, in the model.

    Only with the last part is it sent.
    """
    *first, last = parts
    with model.no_sync():
        for one in first:
            (loss_of(model, *one) / len(parts)).backward()
    (loss_of(model, *last) / len(parts)).backward()


def synchronised(model: Any, parts: Sequence[Part]) -> None:
    """Leaves the same gradient as `accumulate`, and sends with each part."""
    for one in parts:
        (loss_of(model, *one) / len(parts)).backward()


@dataclass(frozen=True)
class Setup:
    """A model that each process trains on ``pieces`` parts of ``batch`` examples each.

    ``way`` is one of `WAYS`. With ``lent`` only process 0 has so many: the others have one, and their cores are
    nearly free to play network card. Without ``bucket_mib`` DDP chooses.
    """

    model: str = "ResNet-18"
    batch: int = 4
    way: str = "DDP"
    bucket_mib: float | None = None
    pieces: int = 1
    lent: bool = True


WAYS = "alone", "DDP", "each", "bf16"
"""Not averaged at all; by DDP, with the last piece; by DDP, with each piece; so too, as bfloat16."""


@dataclass
class Seen(Step):
    """When what happened in a step; ``end`` is when the backward pass, DDP's part of it included, returned."""

    end: float = 0.0

    @property
    def seconds(self) -> float:
        """From the beginning of the forward pass until every gradient is in its place."""
        return self.end - self.begin


class _Replica:
    """What a process keeps of a setup: a model whose hooks tell of the step that is under way."""

    def __init__(self, rank: int, size: int, setup: Setup) -> None:
        if setup.way not in WAYS:
            raise ValueError(f"gradients are averaged in one of {', '.join(WAYS)}, got {setup.way!r}")
        own = part(rank, size, setup.model, setup.batch)
        number = 1 if setup.lent and rank else setup.batch
        self.setup, self.seen, self.silent = setup, Seen(), True
        self.parts = [(own.inputs[:number], own.targets[:number])] * setup.pieces
        self.net, self.model = own.model, own.model
        if setup.way != "alone":
            # The weights are the same already; to send them again would take as long as a step.
            self.model = DistributedDataParallel(own.model, bucket_cap_mb=setup.bucket_mib, init_sync=False)
            self.model.register_comm_hook(self, _Replica.send)
        for weights in own.model.parameters():
            weights.register_post_accumulate_grad_hook(self.ready)
        for _ in range(2):  # after DDP's first step its buckets are arranged anew
            synchronised(self.model, [(own.inputs[:1], own.targets[:1])])
        self.silent = False

    def ready(self, weights: Tensor) -> None:
        self.seen.ready.append(perf_counter())
        self.seen.weighs.append(weights.nbytes)

    def send(self, bucket: dist.GradBucket) -> Future[Tensor]:
        if self.silent:
            there: Future[Tensor] = Future()
            there.set_result(bucket.buffer())
            return there
        if self.setup.way != "bf16":
            return self.seen.send(bucket.buffer())
        self.seen.sent.append(perf_counter())
        self.seen.sizes.append(bucket.buffer().numel() * torch.bfloat16.itemsize)
        return bf16(None, bucket).then(self._arrived)

    def _arrived(self, done: Any) -> Tensor:
        self.seen.arrived.append(perf_counter())
        return done.value()

    def run(self) -> Seen:
        self.net.zero_grad()
        self.seen = Seen()
        dist.barrier()
        self.seen.begin = perf_counter()
        send = accumulate if self.setup.way == "DDP" else synchronised
        send(self.model, self.parts)
        self.seen.end = perf_counter()
        return self.seen


_kept: dict[Setup, _Replica] = {}


def step(rank: int, size: int, setup: Setup) -> Seen:
    """Returns what a process saw of a forward and a backward pass; the first call makes the model, which is kept."""
    if setup not in _kept:
        _kept[setup] = _Replica(rank, size, setup)
    return _kept[setup].run()


def forget(rank: int, size: int) -> None:
    """Drops the models of all setups."""
    _kept.clear()


def all_reduce_seconds(rank: int, size: int, numbers: int) -> float:
    """Returns the seconds of an all-reduce of so many float32 numbers."""
    x = torch.zeros(numbers, device=own_device(rank, size))
    dist.barrier()
    start = perf_counter()
    dist.all_reduce(x)
    return perf_counter() - start


def join_beside(rank: int, size: int) -> None:
    """Joins the hosts of a network; what sends and receives runs on the cores of the last one."""
    process_group_beside(rank, size, size - 1)


def errors(rank: int, size: int, batch: int, pieces: int) -> dict[str, float]:
    """Returns the `error` of a GPT's gradient against DDP's of the batch at once: in pieces, and by `bf16`."""
    own = part(rank, size, "GPT", batch)
    at_once = [(own.inputs, own.targets)]
    in_pieces = list(zip(own.inputs.chunk(pieces), own.targets.chunk(pieces), strict=True))
    right = _gradient(own, at_once, synchronised)
    return {
        "accumulated": error(_gradient(own, in_pieces, accumulate), right),
        "bf16": error(_gradient(own, at_once, synchronised, bf16), right),
    }


def _gradient(own: steps.Step, parts: Sequence[Part], how: Callable[..., None], hook: Any = None) -> Tensor:
    own.model.zero_grad()
    model = DistributedDataParallel(own.model)
    if hook is not None:
        model.register_comm_hook(None, hook)
    how(model, parts)
    return vector(own.model)
