"""A network cut into stages, one to a device: micro-batches go through them as through a pipeline.

All go forward, then all go back. Source: Huang et al., GPipe: efficient training of giant neural networks using
pipeline parallelism, NeurIPS 2019. The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf.spans import Span

Stage = Callable[[Tensor], Tensor]
Kept = list[tuple[Tensor, Tensor]]
"""Input and output of a stage, of each micro-batch."""


def forward(
    stage: Stage,
    inputs: Sequence[Tensor],
    rank: int,
    last: int,
    link: Any = dist,
) -> tuple[Kept, list[Any]]:
    """Returns what is kept for the way back, and what is under way.

    Only rank 0 has inputs; those of others are filled by what comes.
    """
    if rank > 0:
        coming = [link.irecv(x, rank - 1) for x in inputs]
    kept, sent = [], []
    for i, x in enumerate(inputs):
        if rank > 0:
            coming[i].wait()
        x = x.detach().requires_grad_()
        y = stage(x)
        kept.append((x, y))
        if rank < last:
            sent.append(link.isend(y.detach(), rank + 1))
    return kept, sent


def backward(
    kept: Kept,
    targets: Sequence[Tensor],
    rank: int,
    last: int,
    link: Any = dist,
) -> list[Any]:
    """Adds up the weights' gradients; returns what is under way."""
    n = sum(len(x) for x, _ in kept)
    if rank < last:
        dys = [torch.empty_like(y) for _, y in kept]
        coming = [link.irecv(dy, rank + 1) for dy in dys]
    sent = []
    for i, (x, y) in enumerate(kept):
        if rank < last:
            coming[i].wait()
            dy = dys[i]
        else:
            dy = (y.detach() - targets[i]).div_(n)
        y.backward(dy)
        if rank > 0:
            sent.append(link.isend(x.grad, rank - 1))
    return sent


def bubble(devices: int, micro_batches: int) -> float:
    """Returns which share of their time devices wait in a pipeline of equal stages whose messages take no time."""
    if devices < 1 or micro_batches < 1:
        raise ValueError(f"a pipeline has devices and micro-batches, got {devices} and {micro_batches}")
    return (devices - 1) / (micro_batches + devices - 1)


def schedule(
    forward: Sequence[float],
    backward: Sequence[float],
    micro_batches: int,
    message: float = 0.0,
) -> list[list[Span]]:
    """Returns when each stage computes, in order of its micro-batches.

    The seconds are those of one micro-batch in each stage.
    """
    lanes: list[list[Span]] = [[] for _ in forward]
    free = [0.0] * len(forward)
    there = [0.0] * micro_batches  # when its input is there
    order = list(range(len(forward)))
    for seconds, stages in (forward, order), (backward, order[::-1]):
        for stage in stages:
            if stage != stages[0]:
                there = arrivals(there, message)
            for i, ready in enumerate(there):
                start = max(free[stage], ready)
                there[i] = free[stage] = start + seconds[stage]
                lanes[stage].append((start, there[i]))
    return lanes


def arrivals(ready: Sequence[float], seconds: float) -> list[float]:
    """Returns when messages arrive that are ``ready`` at some moments, and take ``seconds`` each on one link."""
    arrived, free = [], 0.0
    for moment in ready:
        free = max(free, moment) + seconds
        arrived.append(free)
    return arrived


def length(lanes: Sequence[Sequence[Span]]) -> float:
    """Returns the seconds from the first to begin until the last has ended."""
    return max(end for lane in lanes for _, end in lane) - min(start for lane in lanes for start, _ in lane)


def idle(lanes: Sequence[Sequence[Span]]) -> float:
    """Returns which share of that time stages do not compute."""
    return 1 - sum(end - start for lane in lanes for start, end in lane) / (len(lanes) * length(lanes))
