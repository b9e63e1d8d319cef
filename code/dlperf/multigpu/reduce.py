"""All-reduce from messages between two: to one device and back, sharded over all, and around a ring.

Each adds up a tensor over all ranks of a process group, in place, so that afterwards all hold the same sum to the
last bit: every number is added up on one rank, and copied. The chapter *Training on multiple GPUs, from scratch*
tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

AllReduce = Callable[..., None]
"""Adds up a contiguous tensor over the ranks of a process group (by default all), in place."""

Message = tuple[Any, Tensor, int]
"""``dist.isend`` or ``dist.irecv``, a tensor, and the rank of the other side in the group."""


def send_and_receive(
    messages: Sequence[Message],
    group: Any = None,
) -> None:
    """Receives and sends all messages at once; waits for them.

    Receives come first: gloo tells its peer that it may send, and on
    the same connection this would wait behind what is being sent.
    """
    requests = []
    for what, tensor, peer in messages:
        if tensor.numel():
            op = dist.P2POp(what, tensor, group=group, group_peer=peer)
            requests.append(op)
    if requests:  # none where a rank is alone
        for message in dist.batch_isend_irecv(requests):
            message.wait()


def through_one(tensor: Tensor, group: Any = None) -> None:
    """Adds up a tensor over all ranks, on rank 0, which hands it back."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    if rank == 0:
        theirs = {r: torch.empty_like(tensor) for r in range(1, size)}
        here = [(dist.irecv, t, r) for r, t in theirs.items()]
        send_and_receive(here, group)
        for t in theirs.values():
            tensor += t
        away = [(dist.isend, tensor, r) for r in theirs]
        send_and_receive(away, group)
    else:
        send_and_receive([(dist.isend, tensor, 0)], group)
        send_and_receive([(dist.irecv, tensor, 0)], group)


def sharded(tensor: Tensor, group: Any = None) -> None:
    """Adds up a tensor over all ranks; each adds up one share of it."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    shares = tensor.view(-1).tensor_split(size)
    mine = shares[rank]
    others = [r for r in range(size) if r != rank]
    theirs = {r: torch.empty_like(mine) for r in others}
    here = [(dist.irecv, theirs[r], r) for r in others]
    away = [(dist.isend, shares[r], r) for r in others]
    send_and_receive(here + away, group)
    for r in others:
        mine += theirs[r]
    here = [(dist.irecv, shares[r], r) for r in others]
    away = [(dist.isend, mine, r) for r in others]
    send_and_receive(here + away, group)


def ring(tensor: Tensor, group: Any = None) -> None:
    """Adds up a tensor over all ranks; each hears only of its left."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    left, right = (rank - 1) % size, (rank + 1) % size
    shares = tensor.view(-1).tensor_split(size)
    space = torch.empty_like(shares[0])  # no share is longer
    for turn in range(2 * (size - 1)):
        send = shares[(rank - turn) % size]
        get = shares[(left - turn) % size]
        adding = turn < size - 1  # then sums are complete, and passed on
        into = space[: len(get)] if adding else get
        messages = (dist.irecv, into, left), (dist.isend, send, right)
        send_and_receive(messages, group)
        if adding:
            get += into


ALGORITHMS: dict[str, AllReduce] = {"first": through_one, "sharded": sharded, "ring": ring}
"""The three, by key."""
