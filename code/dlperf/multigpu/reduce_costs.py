"""What an all-reduce costs: bytes sent, predicted and counted at the interface, and seconds against latency and rate.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter

import torch
import torch.distributed as dist

from dlperf import network
from dlperf.device import synchronize
from dlperf.environment import environment
from dlperf.hardware.alpha_beta import Line
from dlperf.measurement import Measurement
from dlperf.multigpu import traffic
from dlperf.multigpu.group import device_of
from dlperf.multigpu.reduce import WAYS, exchange, first, library
from dlperf.turns import mark

ALL = WAYS | {"library": library}
"""The three ways, and the backend's own."""


def sent_bytes(way: str, size: int, tensor: int, rank: int = 0) -> float:
    """Returns the bytes that a rank sends in an all-reduce of a tensor of so many bytes over ``size`` ranks."""
    if way == "through one":
        return (size - 1) * tensor if rank == 0 else tensor
    return 2 * (size - 1) / size * tensor


def predict(way: str, size: int, tensor: float, link: Line) -> float:
    """Returns the seconds of an all-reduce of so many bytes, where each rank has a ``link`` both in and out.

    Messages that leave a rank at once share its link, and their latencies run at once. Source: Thakur, Rabenseifner
    and Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19 (2005), section 4.
    """
    if size == 1:
        return 0.0
    if way == "through one":
        return 2 * link((size - 1) * tensor)
    if way == "sharded":
        return 2 * link((size - 1) / size * tensor)
    return 2 * (size - 1) * link(tensor / size)


def clocked(rank: int, size: int, ranks: int, sizes: Sequence[int], repeats: int) -> dict[tuple[str, int], list[float]]:
    """Returns the seconds of every way, by the way and the tensor's bytes; ways take turns.

    The first so many ``ranks`` take part, the others return nothing. Joins the process group of a network's hosts,
    unless there is one.
    """
    network.process_group(rank, size)
    group = first(ranks)
    found: dict[tuple[str, int], list[float]] = {}
    if rank >= ranks:
        return found
    device = _device(rank, size)
    for length in sizes:
        tensor = torch.ones(length // 4, device=device)
        for turn in range(repeats + 1):
            for way, all_reduce in ALL.items():
                dist.barrier(group)
                start = perf_counter()
                all_reduce(tensor, group)
                synchronize(device)
                taken = perf_counter() - start
                if turn:  # the first warms up
                    found.setdefault((way, length), []).append(taken)
    return found


def counted(rank: int, size: int, ranks: int, length: int, repeats: int = 3) -> dict[str, float]:
    """Returns the bytes that a host of a network sends in an all-reduce of ``length`` bytes, by the way.

    Frames are counted with their headers, acknowledgements among them. The first so many ``ranks`` take part.
    """
    network.process_group(rank, size)
    group = first(ranks)
    tensor, found = torch.ones(length // 4), {}
    for way, all_reduce in ALL.items() if rank < ranks else ():
        dist.barrier(group)
        before = traffic.sent()
        for _ in range(repeats):
            all_reduce(tensor, group)
        dist.barrier(group)  # all that was sent has arrived
        found[way] = (traffic.sent() - before) / repeats
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


def _device(rank: int, size: int) -> torch.device:
    """Returns where a rank's tensors are: gloo, which joins the hosts of a network, takes those of the CPU."""
    return torch.device("cpu") if dist.get_backend() == "gloo" else device_of(rank, size)


def there_and_back(rank: int, size: int, repeats: int = 200) -> list[float]:
    """Returns the seconds of half a round trip of 4 bytes between ranks 0 and 1, by `exchange`; of others nothing."""
    network.process_group(rank, size)
    device = _device(rank, size)
    ball, found = torch.zeros(1, device=device), []
    dist.barrier()
    for _ in range(repeats * (rank < 2)):
        start = perf_counter()
        away, here = [(dist.isend, ball, 1 - rank)], [(dist.irecv, ball, 1 - rank)]
        for messages in (away, here) if rank == 0 else (here, away):
            exchange(messages)
        synchronize(device)
        found.append((perf_counter() - start) / 2)
    dist.barrier()
    return found[-(-repeats // 5) :]  # the first fifth is dropped
