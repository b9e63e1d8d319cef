"""The GPT split within its layers and between them, by PyTorch's own means: parallelize_module and pipelining.

They are the twins of `dlperf.multigpu.splits` and `dlperf.multigpu.pipeline`, which do the same by hand. The chapter
*Multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.functional import linear

from dlperf.concise.observed import Task, Trainer, here, mean_loss
from dlperf.concise.sharded import AdamW, backward
from dlperf.models.gpt import GPT

MICRO_BATCHES = 4


def split_perceptrons(model: GPT, mesh: DeviceMesh) -> GPT:
    """Splits each perceptron: the first matrix by columns, the
    second by rows.
    """
    plan = {
        "perceptron.1": ColwiseParallel(),
        "perceptron.3": RowwiseParallel(),
    }
    for block in list(model.blocks)[: model.size.layers]:
        parallelize_module(block, mesh, plan)
    return model


def tensor_parallel(task: Task, rank: int, size: int) -> Trainer:
    """Returns the trainer of tensor parallelism: all have the whole batch, and a part of each perceptron."""
    device = here(rank, size)
    model = split_perceptrons(task.model(device), init_device_mesh(device.type, (size,)))
    inputs, targets = task.data(device)
    # One at a time: on a GPU AdamW takes many tensors at once, and may not mix split ones with whole ones.
    optimizer = AdamW(model.parameters(), foreach=False)
    return Trainer(model, optimizer, partial(backward, model, inputs, targets))


class First(nn.Module):
    """The first stage of a GPT: characters and positions, and some blocks."""

    def __init__(self, model: GPT, blocks: int) -> None:
        super().__init__()
        self.characters, self.positions = model.characters, model.positions
        self.blocks = model.blocks[:blocks]

    def forward(self, characters: Tensor) -> Tensor:
        x = self.characters(characters)
        return self.blocks(x + self.positions.weight[: characters.shape[1]])


class Last(nn.Module):
    """The last stage of a GPT: the other blocks, and the scores, by a matrix that the first stage has too."""

    def __init__(self, model: GPT, blocks: int) -> None:
        super().__init__()
        self.blocks = model.blocks[blocks:]
        self.characters = copy.deepcopy(model.characters)

    def forward(self, x: Tensor) -> Tensor:
        return linear(self.blocks(x), self.characters.weight)


def _pipeline(task: Task, rank: int, size: int, schedule: Any) -> Trainer:
    if size != 2:
        raise ValueError(f"this pipeline has two stages, so two processes, got {size}")
    device = here(rank, size)
    model, half = task.model(device), task.size.layers // 2
    module = First(model, half) if rank == 0 else Last(model, half)
    stage = PipelineStage(module, rank, size, device)
    plan = schedule(stage, MICRO_BATCHES, loss_fn=mean_loss)
    inputs, targets = task.data(device)

    def both_ways() -> Tensor:
        losses: list[Tensor] = []
        if rank == 0:
            plan.step(inputs)
        else:
            plan.step(target=targets, losses=losses, return_outputs=False)
        dist.all_reduce(module.characters.weight.grad)  # one matrix, which both stages use
        return torch.stack(losses).mean().detach() if losses else torch.zeros(())

    return Trainer(module, AdamW(module.parameters()), both_ways)


def gpipe(task: Task, rank: int, size: int) -> Trainer:
    """Returns the trainer of a pipeline of two: all micro-batches forward, then all backward."""
    return _pipeline(task, rank, size, ScheduleGPipe)


def one_forward_one_backward(task: Task, rank: int, size: int) -> Trainer:
    """Returns the trainer of a pipeline of two that takes a micro-batch back as soon as it can."""
    return _pipeline(task, rank, size, Schedule1F1B)


SPLIT = {"tensor": tensor_parallel, "GPipe": gpipe, "1F1B": one_forward_one_backward}
