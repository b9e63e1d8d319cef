"""Clocks for a training program of several processes: who is late, and how much is sent.

All ranks must call these functions, since they meet in them: called on rank 0 alone, they wait for ever. The page
*Why is my training slow?* prints them; they need PyTorch alone.
"""

from __future__ import annotations

from contextlib import nullcontext
from statistics import median
from time import perf_counter

import torch
import torch.distributed as dist


def wait():
    """Waits until the GPU has done what was asked of it, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def pace(step, model, steps=10):
    """Returns seconds by rank: a step alone, waiting, one that sends.

    Rank 0 prints their medians. End the run afterwards: steps that do
    not send let the replicas drift apart.
    """
    taken: dict = {"alone": [], "waits": [], "sends": []}
    for turn in range(2 * steps + 2):
        local = turn % 2 == 0  # every other step keeps its gradients
        dist.barrier()
        start = perf_counter()
        with model.no_sync() if local else nullcontext():
            step()
            wait()
        done = perf_counter()
        dist.barrier()
        if turn < 2:  # they warm up
            continue
        taken["alone" if local else "sends"].append(done - start)
        if local:
            taken["waits"].append(perf_counter() - done)
    ranks: list = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, taken)
    if dist.get_rank() == 0:
        for rank, each in enumerate(ranks):
            for name, times in each.items():
                print(f"rank_{rank}_{name:6}{1e3 * median(times):8.2f} ms")
    return ranks


def sent(step, model):
    """Returns the bytes that a step all-reduces, over those of gradients.

    Call it once, before any other hook is registered.
    """
    given = []

    def count(group, bucket):
        given.append(bucket.buffer().nbytes)
        mean = bucket.buffer().div_(dist.get_world_size())
        reduced = dist.all_reduce(mean, async_op=True).get_future()
        return reduced.then(lambda future: future.value()[0])

    model.register_comm_hook(None, count)
    step()
    wait()
    gradients = [p for p in model.parameters() if p.requires_grad]
    return sum(given) / sum(p.numel() * p.element_size() for p in gradients)
