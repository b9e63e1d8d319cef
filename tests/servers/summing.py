"""What the tests of all-reduce have processes do, in a module that they can import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple
from unittest.mock import patch

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf.multigpu.group import first
from dlperf.multigpu.reduce import AllReduce
from dlperf.servers.both_directions import both_directions
from dlperf.servers.collective_trials import clocked
from dlperf.servers.collectives import WAYS, hierarchical, hosts, levels
from dlperf.servers.ring import all_gather, reduce_scatter

LENGTH = 60
"""So many values can be cut evenly by each of 1 to 6 ranks, by hosts and their ranks, and by halves of halves."""


class Message(NamedTuple):
    """A message as one side sees it: to or from ``peer``, so many bytes, from byte ``offset`` of the tensor on."""

    sends: bool
    peer: int
    size: int
    offset: int


def ways(size: int) -> dict[str, AllReduce]:
    """Returns all ways to add up over so many ranks, the hierarchical ones for each number of ranks on a host."""
    levelled = {f"hierarchical {k}": partial(hierarchical, local=k) for k in divisors(size)}
    return {**WAYS, "both directions": both_directions, **levelled}


def divisors(size: int) -> list[int]:
    """Returns how many ranks a host may have."""
    return [local for local in range(1, size + 1) if size % local == 0]


def wholes(rank: int, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Returns a rank's tensor of whole numbers, whose sum is exact in any order."""
    return torch.randint(-1000, 1000, shape, generator=torch.Generator().manual_seed(rank)).to(dtype)


def shapes(size: int) -> Iterator[tuple[tuple[int, ...], torch.dtype]]:
    """Yields what to add up over so many ranks: lengths about their number, other types, other shapes."""
    for length in sorted({0, 1, size - 1, size, size + 1, 3 * size + 2}):
        yield (length,), torch.float64
    for dtype in (torch.float32, torch.int64):
        yield (103,), dtype
    yield (), torch.float64
    yield (13, 5), torch.float64


def against_the_sum(rank: int, size: int, ranks: Sequence[int]) -> list[str]:
    """Returns where a way over the first so many ranks, each of these, does not find their sum; "" where it does."""
    told = []
    for k in ranks:
        group = first(k)
        for name, way in ways(k).items() if rank < k else ():
            for shape, dtype in shapes(k):
                right = sum(wholes(r, shape, dtype) for r in range(k))
                found = wholes(rank, shape, dtype)
                at = found.data_ptr()
                way(found, group=group)
                same = torch.equal(found, right) and found.dtype == dtype and found.data_ptr() == at
                told.append("" if same else f"{name} over {k} of {shape} {dtype}")
    return told


def halves(rank: int, size: int, length: int) -> tuple[bool, bool]:
    """Returns whether share r is added up on rank r, and whether share r of rank r comes to all."""
    right = sum(wholes(r, (length,), torch.float64) for r in range(size)).tensor_split(size)
    found = wholes(rank, (length,), torch.float64)
    reduce_scatter(found)
    added = torch.equal(found.tensor_split(size)[rank], right[rank])
    alone = torch.full((length,), torch.nan)
    alone.tensor_split(size)[rank].fill_(rank)
    all_gather(alone)
    return added, alone.tolist() == [r for r in range(size) for _ in right[r]]


def alike(rank: int, size: int) -> dict[str, Tensor]:
    """Returns by way a sum whose rounding depends on the order."""
    found = {}
    for name, way in ways(size).items():
        found[name] = torch.randn(1001, generator=torch.Generator().manual_seed(rank))
        way(found[name])
    return found


def refused(rank: int, size: int) -> dict[str, str]:
    """Returns what ways say of a tensor that is not contiguous, and of hosts that the ranks do not fill."""
    said = {}
    for name, way in ways(size).items():
        try:
            way(torch.ones(4, 3).t())
        except RuntimeError as error:
            said[name] = str(error)
    for local in (0, 4):
        try:
            levels(local)
        except ValueError as error:
            said[f"local={local}"] = str(error)
    others = dist.new_group(list(range(1, size)))
    try:
        levels(1, others if rank else None)
    except ValueError as error:
        said["others"] = str(error)
    return said


def messages(rank: int, size: int, ranks: Sequence[int]) -> dict[tuple[str, int], list[list[Message]]]:
    """Returns what a rank sends and receives at once, one such list after another, by the way and the ranks' number."""
    told = {}
    for k in ranks:
        group = first(k)
        for name, way in ways(k).items() if rank < k else ():
            tensor, told[name, k] = torch.zeros(LENGTH, dtype=torch.float64), []
            way(tensor, group=group)  # makes the groups that it needs
            with patch.object(dist, "batch_isend_irecv", partial(_write_down, told[name, k], tensor)):
                way(tensor, group=group)
    return told


def _write_down(
    told: list[list[Message]], tensor: Tensor, ops: Sequence[dist.P2POp], send: object = dist.batch_isend_irecv
) -> object:
    at = tensor.data_ptr()
    told.append([Message(op.op is dist.isend, op.peer, op.tensor.nbytes, op.tensor.data_ptr() - at) for op in ops])
    return send(ops)


class Told(NamedTuple):
    """What each process does, in order."""

    sums: list[str]
    halves: list[tuple[bool, bool]]
    alike: dict[str, Tensor]
    refused: dict[str, str]
    messages: dict[tuple[str, int], list[list[Message]]]
    clocked: dict[tuple[str, int], list[float]]


def everything(rank: int, size: int) -> Told:
    """Returns all of the above, from processes that are started once."""
    ranks = range(1, size + 1)
    for k in ranks:
        for local in divisors(k):
            hosts(local, k)  # ranks that will not take part have to help
    return Told(
        against_the_sum(rank, size, ranks),
        [halves(rank, size, length) for length in (0, 1, size - 1, size, 45)],
        alike(rank, size),
        refused(rank, size),
        messages(rank, size, ranks),
        clocked(rank, size, [4096, 8], 3),
    )
