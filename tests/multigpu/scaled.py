"""What the test of a data-parallel step has processes do, in a module that they can import."""

from __future__ import annotations

from functools import partial

import torch
import torch.distributed as dist

from dlperf.device import synchronize
from dlperf.multigpu import scaling
from dlperf.multigpu.group import device_of
from dlperf.multigpu.scaling import Task


def gradient(rank: int, size: int, task: Task, k: int) -> torch.Tensor:
    """Returns the gradient with which a step on ``k`` devices would change the weights, as a vector.

    The optimizer takes steps of length zero, so the weights stay.
    """
    group = scaling._team(k, size)
    if rank >= k:
        return torch.empty(0)
    step = scaling._share(task, rank, k, device_of(rank, size))
    kept: list[torch.Tensor] = []
    still = torch.optim.SGD(step.model.parameters(), lr=0.0)
    still.register_step_pre_hook(lambda *_: kept.extend(p.grad.flatten() for p in step.model.parameters()))
    all_reduce = partial(dist.all_reduce, group=group)
    scaling.train_step(step.model, still, step.inputs, step.targets, all_reduce, k)
    synchronize()
    return torch.cat(kept).cpu()


def refused(rank: int, size: int) -> str:
    """Returns why a batch cannot be shared."""
    try:
        scaling.together(rank, size, Task("LeNet", 5), 2)
    except ValueError as why:
        return str(why)
    return ""
