"""Three stages at once: examples come in over a link, are computed on, and the results go back over it.

An exercise of the chapter *Automatic parallelism*.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist

from dlperf.network import process_group


def place(rank: int, device: str) -> str:
    """Returns where a host can compute: on ``device``, or the CPU where that does not start for it.

    In namespaces of their own users and networks an H100's driver started; where processes have numbers of their
    own, as on a host, cuInit returned 304, "OS call failed".
    """
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):  # the second where PyTorch was built without CUDA
        return "cpu"
    return device


def relay(rank: int, chunks: int, layers: int, rows: int = 1024, width: int = 1024, device: str = "cpu") -> float:
    """Returns the seconds until host 1 has back what host 0 made of its ``(rows, width)`` examples, in chunks.

    Host 0 multiplies each chunk by ``layers`` matrices of ``(width, width)`` on ``device`` once it has come, and sends
    it back at once; copies to and from a GPU are waited for. A link carries both directions at the same time. With
    one chunk nothing overlaps.
    """
    process_group(rank, 2)
    x = torch.ones(chunks, rows // chunks, width)
    y, w = torch.ones_like(x), torch.full((width, width), 1 / width, device=device)
    moves: list[Any] = []
    dist.barrier()
    start = perf_counter()
    if rank == 1:
        moves += [dist.isend(x[i], 0, tag=i) for i in range(chunks)]
        moves += [dist.irecv(y[i], 0, tag=chunks + i) for i in range(chunks)]
    else:
        coming: list[Any] = [dist.irecv(x[i], 1, tag=i) for i in range(chunks)]
        for i in range(chunks):
            coming[i].wait()
            y[i] = _through(x[i], w, layers)
            moves.append(dist.isend(y[i], 1, tag=chunks + i))
    for move in moves:
        move.wait()
    return perf_counter() - start


def alone(rank: int, chunks: int, layers: int, rows: int = 1024, width: int = 1024, device: str = "cpu") -> float:
    """Returns the seconds of what host 0 computes in `relay`, chunk by chunk, with nothing sent; 0 on another host."""
    if rank:
        return 0.0
    x = torch.ones(chunks, rows // chunks, width)
    y, w = torch.ones_like(x), torch.full((width, width), 1 / width, device=device)
    start = perf_counter()
    for i in range(chunks):
        y[i] = _through(x[i], w, layers)
    return perf_counter() - start


def _through(chunk: torch.Tensor, weights: torch.Tensor, layers: int) -> torch.Tensor:
    """Returns ``chunk``, moved to where the weights are, and multiplied by them ``layers`` times."""
    h = chunk.to(weights.device)
    for _ in range(layers):
        h = h @ weights
    return h
