"""Predict the cost of all-reduce algorithms: messages in a row, bytes sent, seconds, and crossover sizes.

Every rank has a line to a switch, by which it sends one message and gets another at the same time; adding up is free.
Sources: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19
(2005), section 4; of the fewest bytes, Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of
workstations, JPDC 69 (2009). The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dlperf.alpha_beta import Line, fit
from dlperf.measurement import Measurement


class Path(NamedTuple):
    """The longest chain of messages that wait for one another: how many, and how many times the tensor they carry."""

    messages: int
    tensors: float


def path(way: str, world_size: int) -> Path:
    """Returns the longest chain of messages in an all-reduce over so many ranks, one of `collectives.WAYS`.

    Raises ValueError if ``way`` is none of them, or ``world_size`` is below 1.
    """
    if world_size < 1:
        raise ValueError(f"an all-reduce has at least one rank, got world_size={world_size}")
    core = _core(world_size)
    match way:
        case "ring":
            return Path(2 * (world_size - 1), _least(world_size))
        case "tree":
            levels = (world_size - 1).bit_length()
            return Path(2 * levels, 2.0 * levels)
        case "halving-doubling":
            extra = 2 * (world_size > core)  # a rank too many hands its tensor in, and gets it back
            return Path(2 * (core.bit_length() - 1) + extra, _least(core) + extra)
    raise ValueError(f"a way is ring, tree or halving-doubling, got {way!r}")


def seconds(way: str, world_size: int, size: float, line: Line) -> float:
    """Returns the seconds of an all-reduce of ``size`` bytes; raises as `path` does."""
    messages, tensors = path(way, world_size)
    return messages * line.alpha + tensors * line.beta * size


def sent(way: str, world_size: int, size: float) -> float:
    """Returns the bytes that a rank sends in an all-reduce of ``size`` bytes, of all ranks the most.

    In a tree that is rank 0, in halving and doubling one that another has handed its tensor to. Raises as `path` does.
    """
    _, tensors = path(way, world_size)
    if way == "tree":
        return tensors / 2 * size
    if way == "halving-doubling" and world_size > _core(world_size):
        return (tensors - 1) * size
    return tensors * size


def crossover(one: str, other: str, world_size: int, line: Line) -> float | None:
    """Returns the bytes of the tensor that two ways take equally long for; raises as `path` does.

    None where one is faster for every tensor, or both are alike for all.
    """
    a, b = path(one, world_size), path(other, world_size)
    latency, rate = line.alpha * (a.messages - b.messages), line.beta * (b.tensors - a.tensors)
    return latency / rate if latency * rate > 0 else None


def seconds_by_level(local: int, hosts: int, size: float, inside: Line, across: Line) -> float:
    """Returns the seconds of a `hierarchical` all-reduce of ``size`` bytes over so many ``hosts`` of ``local`` ranks.

    Each rank has a line ``inside`` its host, and one ``across`` to the other hosts; see `shared` for a host with one.
    """
    return seconds("ring", local, size, inside) + seconds("ring", hosts, size / local, across)


def sent_by_level(local: int, hosts: int, size: float) -> tuple[float, float]:
    """Returns the bytes that a rank sends in a `hierarchical` all-reduce: inside its host, and across to others."""
    return sent("ring", local, size), sent("ring", hosts, size / local)


def shared(line: Line, ranks: int) -> Line:
    """Returns what each of so many ``ranks`` has of a line which they all use at once: the latency, a part of the rate.

    Raises ValueError where there is no rank.
    """
    if ranks < 1:
        raise ValueError(f"a line is shared by at least one rank, got {ranks}")
    return Line(line.alpha, ranks * line.beta)


def _core(world_size: int) -> int:
    """Returns the largest power of two that is no larger."""
    return 2 ** (world_size.bit_length() - 1)


def _least(world_size: int) -> float:
    """Returns how many times the tensor each rank sends, at least, if none sends more than another."""
    return 2 * (world_size - 1) / world_size


def line_of(measured: Mapping[tuple[str, int], Measurement], way: str = "step") -> Line:
    """Returns the line through the medians of what messages took; raises ValueError where there is none."""
    points = {length: m.median for (each, length), m in measured.items() if each == way}
    return fit(list(points), list(points.values()))
