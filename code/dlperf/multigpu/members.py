"""The least that a launched function does: says who it is, adds up with the others, and fails while they wait.

The chapter *Training on multiple GPUs, from scratch* begins with it.
"""

from __future__ import annotations

import torch
import torch.distributed as dist

from dlperf.multigpu.group import device_of


def summed(rank: int, world_size: int) -> float:
    """Returns the sum of one number from each process, from 1 on."""
    x = torch.tensor(rank + 1.0, device=device_of(rank, world_size))
    print(rank, world_size, x.item())
    dist.all_reduce(x)
    return x.item()


def fails(rank: int, world_size: int) -> float:
    """Raises ZeroDivisionError in process 1, while the others wait for its number."""
    x = torch.tensor(1 / (1 - rank), device=device_of(rank, world_size))
    dist.all_reduce(x)
    return x.item()
