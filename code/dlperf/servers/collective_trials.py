"""All-reduce algorithms clocked and counted: ranks take turns with the ways, on a network's hosts or in a group.

The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf import network
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.multigpu import traffic
from dlperf.multigpu.reduce import AllReduce, send_and_receive
from dlperf.servers.collectives import WAYS
from dlperf.turns import mark
from dlperf.workers import Workers


def step(tensor: Tensor, group: Any = None) -> None:
    """Sends a tensor to the right while one comes from the left: a message as the ways send it, for its latency."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    left, right = (rank - 1) % size, (rank + 1) % size
    send_and_receive([(dist.irecv, torch.empty_like(tensor), left), (dist.isend, tensor, right)], group)


def library(tensor: Tensor, group: Any = None) -> None:
    """Adds up a tensor over all ranks by the all-reduce of the process group's own backend."""
    dist.all_reduce(tensor, group=group)


ALL: dict[str, AllReduce] = WAYS | {"library": library, "step": step}
"""The ways, beside them what the backend has, and one message, from which their seconds are predicted."""


def clocked(
    rank: int, size: int, sizes: Sequence[int], repeats: int, ways: Mapping[str, AllReduce] = ALL
) -> dict[tuple[str, int], list[float]]:
    """Returns the seconds of every way, by the way and the tensor's bytes; ways take turns.

    Tensors are float32, in the memory of the host. Joins the process group of a network's hosts, unless there is one.
    """
    network.process_group(rank, size)
    found: dict[tuple[str, int], list[float]] = {}
    for length in sizes:
        tensor = torch.zeros(length // 4)  # zeros stay what they are, however often they are added up
        for turn in range(repeats + 1):
            for way, all_reduce in ways.items():
                dist.barrier()
                start = perf_counter()
                all_reduce(tensor)
                taken = perf_counter() - start
                if turn:  # the first warms up
                    found.setdefault((way, length), []).append(taken)
    return found


def slowest(found: Sequence[Mapping[tuple[str, int], list[float]]]) -> dict[tuple[str, int], Measurement]:
    """Returns the seconds until the last rank was done, by the way and the tensor's bytes; ways took turns."""
    taking, here = [each for each in found if each], environment("cpu")
    marks = {length: mark() for _, length in taking[0]}
    measured = {}
    for way, length in taking[0]:
        samples = tuple(map(max, zip(*(each[way, length] for each in taking), strict=True)))
        measured[way, length] = Measurement(samples, "s", f"{way}, {length} bytes", 1, here, marks[length])
    return measured


def counted(
    rank: int, size: int, length: int, repeats: int = 3, ways: Mapping[str, AllReduce] = ALL
) -> dict[str, float]:
    """Returns the bytes that leave this rank's host in an all-reduce of ``length`` bytes, by the way.

    Frames are counted with their headers, acknowledgements among them.
    """
    network.process_group(rank, size)
    tensor, found = torch.zeros(length // 4), {}
    for way, all_reduce in ways.items():
        all_reduce(tensor)  # makes what connections it needs
        before = _sent_by_all()
        for _ in range(repeats):
            all_reduce(tensor)
        found[way] = (_sent_by_all() - before) / repeats
    return found


def _sent_by_all() -> int:
    """Returns the bytes that have left this rank's host, read while none of its ranks sends more than barriers."""
    dist.barrier()
    count = traffic.sent()
    dist.barrier()
    return count


def on_each(host: int, hosts: int, local: int, fn: Any, *args: Any) -> list[Any]:
    """Returns ``fn(rank, world_size, *args)`` of each of ``local`` processes of this host of a network, in order.

    They share the link of their host, and reach one another in its memory, so a way may treat them as near; ranks of
    a host follow one another. They are started for this call, and end with it.
    """
    with Workers(local) as workers:
        return workers.run(_one, host, hosts, local, fn, args)


def _one(place: int, host: int, hosts: int, local: int, fn: Any, args: Sequence[Any]) -> Any:
    return fn(host * local + place, hosts * local, *args)
