"""What the tests of the three ways to reduce have processes do, in a module that they can import."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from dlperf.multigpu.group import device_of
from dlperf.multigpu.reduce import WAYS, first

SHAPES = [(0,), (1,), (7,), (), (13, 5), (3, 0, 2), (100_003,)]


def against_the_library(rank: int, size: int, ranks: Sequence[int]) -> list[str]:
    """Returns where a sum of whole numbers, exact in any order, is not the backend's own, or which checks were made."""
    device, told = device_of(rank, size), []
    for k in ranks:
        group = first(k)
        if rank >= k:
            continue
        for shape in SHAPES:
            for dtype in (torch.float64, torch.float32):
                draw = torch.Generator().manual_seed(rank)
                mine = torch.randint(-1000, 1000, shape, generator=draw).to(device, dtype)
                right = mine.clone()
                dist.all_reduce(right, group=group)
                for name, way in WAYS.items():
                    found = mine.clone()
                    at = found.data_ptr()
                    way(found, group)
                    same = torch.equal(found, right) and found.shape == mine.shape and found.data_ptr() == at
                    told.append(f"{name} {k} {shape} {dtype}" if not same else "")
    return told


def alike(rank: int, size: int) -> dict[str, list[torch.Tensor]]:
    """Returns by way a sum whose rounding depends on the order, of every rank."""
    device, found = device_of(rank, size), {}
    for name, way in WAYS.items():
        mine = torch.randn(1001, generator=torch.Generator().manual_seed(rank)).to(device)
        way(mine)
        found[name] = mine.cpu()
    return found


def transposed(rank: int, size: int, name: str) -> str:
    """Returns what a way says of a tensor that is not contiguous."""
    try:
        WAYS[name](torch.ones(4, 3, device=device_of(rank, size)).t())
    except (RuntimeError, ValueError) as error:
        return str(error)
    return ""


def everything(rank: int, size: int) -> tuple[list[str], dict[str, list[torch.Tensor]], dict[str, str]]:
    """Returns all of the above, from processes that are started once."""
    return (
        against_the_library(rank, size, range(1, size + 1)),
        alike(rank, size),
        {n: transposed(rank, size, n) for n in WAYS},
    )
