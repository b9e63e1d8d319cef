"""Predict the bytes and seconds of an all-reduce by algorithm, and compare them with measurements.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter

import torch
import torch.distributed as dist

from dlperf.alpha_beta import Line
from dlperf.device import synchronize
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.multigpu import traffic
from dlperf.multigpu.group import Crew, first, own_device
from dlperf.multigpu.reduce import ALGORITHMS
from dlperf.turns import columns, interleave

MIB = 2**20


def bytes_sent(algorithm: str, k: int, size: float, rank: int = 0) -> float:
    """Returns the bytes that a device sends in an all-reduce of ``size`` bytes over k devices."""
    if algorithm == "first":
        return (k - 1) * size if rank == 0 else size
    return 2 * (k - 1) / k * size


def seconds(algorithm: str, k: int, size: float, link: Line) -> float:
    """Returns the predicted seconds of an all-reduce of ``size`` bytes.

    Each device has a ``link`` in and out; what leaves it at once shares
    the link, and latencies run at once.
    """
    if k == 1:
        return 0.0
    if algorithm == "first":  # the first device receives, then sends
        return 2 * link((k - 1) * size)
    if algorithm == "sharded":  # each part to its device, and back
        return 2 * link((k - 1) / k * size)
    return 2 * (k - 1) * link(size / k)  # one part a turn


def all_reduce(rank: int, size: int, algorithm: str, k: int, nbytes: int, counted: bool = False) -> tuple[float, float]:
    """Returns the seconds of an all-reduce among ``k`` devices, and if ``counted`` the bytes that left this one.

    A host counts bytes where they leave it, frames with their headers and acknowledgements among them.
    """
    group = first(k)
    tensor = torch.ones(nbytes // 4, device=own_device())
    before = traffic.sent() if counted else 0  # it takes milliseconds, so all begin after it
    dist.barrier(group=group)
    start = perf_counter()
    ALGORITHMS[algorithm](tensor, group)
    synchronize(tensor.device)
    taken = perf_counter() - start
    dist.barrier(group=group)  # all that was sent has arrived
    return taken, float(traffic.sent() - before) if counted else 0.0


def compare(
    crew: Crew, ks: Sequence[int], link: Line, nbytes: int = 4 * MIB, repeats: int = 5
) -> dict[str, Measurement]:
    """Returns what each of `ALGORITHMS` takes and sends among k devices, which take turns.

    By ``<algorithm>-<k>``: seconds, and predicted over measured with ``-ratio`` appended; with ``-bytes`` those that
    the busiest host sends, and with ``-bytes-ratio`` counted over predicted, where hosts count them.
    """
    on_host = crew.kind == "host"
    sides = {
        (name, k): partial(crew.first(k).run, all_reduce, name, k, nbytes, on_host) for name in ALGORITHMS for k in ks
    }
    taken = interleave(sides, repeats)
    rows = []
    for turn in range(len(next(iter(taken.values())))):
        row: dict[str, float] = {}
        for name, k in sides:
            passed = max(each[0] for each in taken[name, k][turn])
            row |= {f"{name}-{k}": passed, f"{name}-{k}-ratio": seconds(name, k, nbytes, link) / passed}
            if on_host:
                sent = max(each[1] for each in taken[name, k][turn])
                predicted = traffic.on_wire(bytes_sent(name, k, nbytes))
                row |= {f"{name}-{k}-bytes": sent, f"{name}-{k}-bytes-ratio": sent / predicted}
        rows.append(row)
    units = {name: "1" if name.endswith("ratio") else "B" if name.endswith("bytes") else "s" for name in rows[0]}
    return columns(rows, units, environment("cpu"))


def summary(found: Mapping[str, Measurement], link: Line, k: int = 8, nbytes: int = 4 * MIB) -> dict[str, float]:
    """Returns how many times as fast as the way through device 0 a ring of ``k`` devices is predicted to be.

    With it, where hosts counted bytes, ``bytes-least`` and ``bytes-most`` of what `compare` counted over predicted.
    """
    said = {"sum-gain-predicted": seconds("first", k, nbytes, link) / seconds("ring", k, nbytes, link)}
    counted = [each.median for name, each in found.items() if name.endswith("bytes-ratio")]
    return said | ({"bytes-least": min(counted), "bytes-most": max(counted)} if counted else {})
