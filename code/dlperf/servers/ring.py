"""All-reduce around a ring, from its two halves: reduce-scatter and all-gather, message by message.

A tensor is seen as flat, and cut into a share for each rank. Every number is added up on one rank, and copied: all end
with the same bits. Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
Journal of Parallel and Distributed Computing 69 (2009). The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf.multigpu.reduce import send_and_receive


def reduce_scatter(tensor: Tensor, group: Any = None) -> None:
    """Adds up share r on rank r; what else is left is of no use."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    left, right = (rank - 1) % size, (rank + 1) % size
    shares = tensor.view(-1).tensor_split(size)
    space = torch.empty_like(shares[0])  # no share is longer
    for turn in range(1, size):
        send = shares[(rank - turn) % size]
        add_to = shares[(left - turn) % size]
        get = (dist.irecv, space[: len(add_to)], left)
        send_and_receive([get, (dist.isend, send, right)], group)
        add_to += space[: len(add_to)]


def all_gather(tensor: Tensor, group: Any = None) -> None:
    """Copies share r of rank r to all ranks."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    left, right = (rank - 1) % size, (rank + 1) % size
    shares = tensor.view(-1).tensor_split(size)
    for turn in range(size - 1):
        send = shares[(rank - turn) % size]
        get = (dist.irecv, shares[(left - turn) % size], left)
        send_and_receive([get, (dist.isend, send, right)], group)


def ring(tensor: Tensor, group: Any = None) -> None:
    """Adds up a contiguous tensor over all ranks, in place."""
    reduce_scatter(tensor, group)
    all_gather(tensor, group)


class Move(NamedTuple):
    """A message: rank ``source`` sends what it has of share ``share`` to rank ``target``."""

    source: int
    target: int
    share: int


def steps(world_size: int) -> list[list[Move]]:
    """Returns the messages of each step of a `ring`, in order of their source; the first half are to be added up.

    Raises ValueError where there is no rank.
    """
    if world_size < 1:
        raise ValueError(f"a ring has at least one rank, got world_size={world_size}")
    n = world_size
    return [[Move(rank, (rank + 1) % n, (rank - turn) % n) for rank in range(n)] for turn in range(1, 2 * n - 1)]
