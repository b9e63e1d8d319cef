"""All-reduce around a ring in both directions at once: half of the tensor each way.

It pays where a rank has a link to each of its neighbours. On one link to a switch both halves leave by it. The chapter
*Parameter servers* asks for it in an exercise.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf.multigpu.reduce import send_and_receive


def both_directions(tensor: Tensor, group: Any = None) -> None:
    """Adds up a contiguous tensor over all ranks, in place."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    halves = tensor.view(-1).tensor_split(2)
    shares = [half.tensor_split(size) for half in halves]
    spaces = [torch.empty_like(each[0]) for each in shares]
    for turn in range(1, 2 * size - 1):
        here, away, sums = [], [], []
        adding = turn < size  # then sums are complete, and passed on
        for half, to in enumerate((1, -1)):  # to the right, to the left
            mine, space = shares[half], spaces[half]
            send = mine[(to * rank - turn) % size]
            get = mine[(to * rank - turn - 1) % size]
            into = space[: len(get)] if adding else get
            here.append((dist.irecv, into, (rank - to) % size))
            away.append((dist.isend, send, (rank + to) % size))
            sums.append((get, into))
        send_and_receive(here + away, group)
        for get, into in sums if adding else ():
            get += into
