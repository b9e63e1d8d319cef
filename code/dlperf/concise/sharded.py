"""The GPT on several processes, each with a part of the batch: DDP, ZeRO's stage 1, and fully_shard.

Most functions make a `Trainer`. The chapter *Multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from dlperf.concise.observed import Task, Trainer, here, mean_loss
from dlperf.models.gpt import GPT

AdamW = partial(torch.optim.AdamW, lr=1e-3)


def alone(task: Task, rank: int = 0, size: int = 1) -> Trainer:
    """Returns the trainer of one process that has the whole batch for itself."""
    device = here(rank, size) if dist.is_initialized() else torch.device("cpu")
    model = task.model(device)
    inputs, targets = task.data(device)
    return Trainer(model, AdamW(model.parameters()), partial(backward, model, inputs, targets))


def part(task: Task, rank: int, size: int) -> Trainer:
    """Returns the trainer of a process that has its part of the batch and talks to nobody."""
    model = task.model(here(rank, size))
    return _by_data(model, AdamW(model.parameters()), task, rank, size)


def backward(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    loss = mean_loss(model(inputs), targets)
    loss.backward()
    return loss.detach()


def _by_data(model: Any, optimizer: Any, task: Task, rank: int, size: int) -> Trainer:
    """Returns a trainer that has its part of the batch."""
    inputs, targets = (x.chunk(size)[rank] for x in task.data(here(rank, size)))
    return Trainer(model, optimizer, partial(backward, model, inputs, targets))


def _ddp(task: Task, rank: int, size: int) -> DistributedDataParallel:
    """Returns the GPT under DDP, whose gradients live in its buckets and nowhere else."""
    return DistributedDataParallel(task.model(here(rank, size)), gradient_as_bucket_view=True)


def ddp(task: Task, rank: int, size: int) -> Trainer:
    """Returns the trainer of data parallelism: everybody holds everything."""
    model = _ddp(task, rank, size)
    return _by_data(model, AdamW(model.parameters()), task, rank, size)


def zero_1(task: Task, rank: int, size: int) -> Trainer:
    """Returns the trainer of ZeRO's stage 1: the optimizer's state is sharded, by whole tensors."""
    model = _ddp(task, rank, size)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-3)
    return _by_data(model, optimizer, task, rank, size)


def shard(model: GPT, mesh: DeviceMesh, again: bool) -> GPT:
    """Shards a GPT block by block, in place.

    With `again`, a block is dropped after its forward pass and
    gathered once more for its backward pass.
    """
    for block in list(model.blocks)[: model.size.layers]:
        fully_shard(block, mesh=mesh, reshard_after_forward=again)
    fully_shard(model, mesh=mesh, reshard_after_forward=again)
    return model


def _fully(task: Task, rank: int, size: int, again: bool) -> Trainer:
    device = here(rank, size)
    mesh = init_device_mesh(device.type, (size,))
    model = shard(task.model(device), mesh, again)
    return _by_data(model, AdamW(model.parameters()), task, rank, size)


def zero_2(task: Task, rank: int, size: int) -> Trainer:
    """Returns the trainer of `fully_shard` that keeps what it gathered until the backward pass is over."""
    return _fully(task, rank, size, again=False)


def zero_3(task: Task, rank: int, size: int) -> Trainer:
    """Returns the trainer of `fully_shard` that drops each block after use and gathers it again: ZeRO's stage 3."""
    return _fully(task, rank, size, again=True)


def zero_3_ahead(task: Task, rank: int, size: int) -> Trainer:
    """Returns the trainer of `zero_3` that gathers each block while the one before it computes its forward pass."""
    made = zero_3(task, rank, size)
    gather_ahead(list(cast(GPT, made.model).blocks)[: task.size.layers])
    return made


def gather_ahead(blocks: list[Any]) -> None:
    """Has each block of a sharded network begin to gather the next
    one before it computes.
    """
    for block, following in pairwise(blocks):

        def begin(*_: Any, following: Any = following) -> None:
            following.unshard(async_op=True)

        block.register_forward_pre_hook(begin)


SHARDED = {"DDP": ddp, "ZeRO-1": zero_1, "ZeRO-2": zero_2, "ZeRO-3": zero_3}
