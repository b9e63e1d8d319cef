"""A network split into stages, one to a device: micro-batches go through them as through a pipeline.

All go forward, then all go back. Source: Huang et al., GPipe: efficient training of giant neural networks using
pipeline parallelism, NeurIPS 2019. The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf.spans import Span, extent

Stage = Callable[[Tensor], Tensor]
Passed = list[tuple[Tensor, Tensor]]
"""Input and output of a stage, of each micro-batch."""


def forward(
    stage: Stage,
    inputs: Sequence[Tensor],
    rank: int,
    last: int,
    link: Any = dist,
) -> tuple[Passed, list[Any]]:
    """Returns inputs and outputs for the way back, and messages sent.

    Only rank 0 has inputs; those of others are filled by what comes.
    """
    if rank > 0:
        coming = [link.irecv(x, rank - 1) for x in inputs]
    passed, sent = [], []
    for i, x in enumerate(inputs):
        if rank > 0:
            coming[i].wait()
        x = x.detach().requires_grad_()
        y = stage(x)
        passed.append((x, y))
        if rank < last:
            sent.append(link.isend(y.detach(), rank + 1))
    return passed, sent


def backward(
    passed: Passed,
    targets: Sequence[Tensor],
    rank: int,
    last: int,
    link: Any = dist,
) -> list[Any]:
    """Adds up the weights' gradients; returns messages sent."""
    rows = sum(len(x) for x, _ in passed)
    if rank < last:
        dys = [torch.empty_like(y) for _, y in passed]
        coming = [link.irecv(dy, rank + 1) for dy in dys]
    sent = []
    for i, (x, y) in enumerate(passed):
        if rank < last:
            coming[i].wait()
            dy = dys[i]
        else:
            dy = (y.detach() - targets[i]).div_(rows)
        y.backward(dy)
        if rank > 0:
            sent.append(link.isend(x.grad, rank - 1))
    return sent


def bubble(devices: int, micro_batches: int) -> float:
    """Returns the share of their time in which devices wait: equal stages, messages that take no time.

    Raises ValueError where there is no device or no micro-batch.
    """
    if devices < 1 or micro_batches < 1:
        raise ValueError(f"a pipeline has devices and micro-batches, got {devices} and {micro_batches}")
    return (devices - 1) / (micro_batches + devices - 1)


def schedule(forward: Sequence[float], backward: Sequence[float], micro_batches: int) -> list[list[Span]]:
    """Returns when each stage computes, in order of its micro-batches; messages take no time.

    ``forward`` and ``backward`` are the seconds of one micro-batch in each stage.
    """
    lanes: list[list[Span]] = [[] for _ in forward]
    free = [0.0] * len(forward)
    ready = [0.0] * micro_batches  # when its input is there
    order = list(range(len(forward)))
    for seconds, stages in (forward, order), (backward, order[::-1]):
        for stage in stages:
            for i in range(micro_batches):
                start = max(free[stage], ready[i])
                ready[i] = free[stage] = start + seconds[stage]
                lanes[stage].append((start, ready[i]))
    return lanes


def idle(lanes: Sequence[Sequence[Span]]) -> float:
    """Returns the share of the time, from the first span to the last, in which stages do not compute."""
    computing = sum(end - start for lane in lanes for start, end in lane)
    return 1 - computing / (len(lanes) * extent([span for lane in lanes for span in lane]))
