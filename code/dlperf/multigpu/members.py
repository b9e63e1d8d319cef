"""A function to launch that fails in one process, while the others wait for it.

The chapter *Training on multiple GPUs, from scratch* shows it.
"""

from __future__ import annotations

import torch
import torch.distributed as dist

from dlperf.multigpu.group import device_of


def fails(rank: int, world_size: int) -> float:
    """Raises ZeroDivisionError in process 1; the others wait for it."""
    number = 1 / (1 - rank)
    x = torch.tensor(number, device=device_of(rank, world_size))
    dist.all_reduce(x)
    return x.item()
