"""Predict all-reduce times by servers, rings and trees over any number of identical hosts, and crossover sizes.

What equal hosts do in a phase has a closed form, which takes no longer for 4,096 hosts than for four; the tree and a
smaller number of servers are run as recurrences. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isqrt, sqrt
from typing import NamedTuple

import numpy as np

from dlperf.servers import loads, recurrences
from dlperf.servers.events import Cluster
from dlperf.servers.phases import Direct, Phase, Plan, Ring, one_level, two_level


def through_servers(cluster: Cluster, world_size: int, size: float, servers: int) -> float:
    """Returns the seconds of an all-reduce through so many servers on hosts of their own."""
    return float(recurrences.through_servers(cluster, np.zeros(world_size), servers, size).max())


def single_server(cluster: Cluster, world_size: int, size: float) -> float:
    """Returns the seconds of an all-reduce through one server."""
    return through_servers(cluster, world_size, size, 1)


def separate_servers(cluster: Cluster, world_size: int, size: float) -> float:
    """Returns the seconds of an all-reduce through as many servers as workers, on hosts of their own."""
    share = size / world_size
    return sum(burst(cluster, world_size, share, adds) for adds in (True, False))


def tree(cluster: Cluster, world_size: int, size: float) -> float:
    """Returns the seconds of an all-reduce up a binomial tree, and down again."""
    return float(recurrences.tree(cluster, np.zeros(world_size), size).max())


def halving_doubling(cluster: Cluster, world_size: int, size: float) -> float:
    """Returns the seconds of `collectives.halving_doubling`: each message waits for the one before."""
    levels = world_size.bit_length() - 1
    shares = [size / 2**level for level in range(1, levels + 1)]
    shares += [size] * (world_size > 2**levels)  # a rank too many hands its tensor in, and gets it back
    return sum(burst(cluster, 1, share, adds) for share in shares for adds in (True, False))


def burst(cluster: Cluster, messages: int, share: float, adds: bool) -> float:
    """Returns the seconds until a host has seen to so many messages, sent to it one right after the other.

    Its link or its processor is the slower one, and is always busy; the other takes the first or last message only.
    """
    link, seen = _costs(cluster, share, adds)
    return _alpha(cluster) + link + seen + (messages - 1) * max(link, seen)


def phase(cluster: Cluster, kind: type[Phase], plan: Plan) -> float:
    """Returns the seconds of a phase that all hosts enter at once."""
    others = len(plan.groups[0]) - 1
    if others == 0:
        return 0.0
    if kind is Ring:
        return others * burst(cluster, 1, plan.share, plan.adds)
    return burst(cluster, others, plan.share, plan.adds)


def phases(cluster: Cluster, kind: type[Phase], plans: Sequence[Plan]) -> float:
    """Returns the seconds of an all-reduce in phases."""
    return sum(phase(cluster, kind, plan) for plan in plans)


CostModel = Callable[[Cluster, int, float], float]
"""Returns the seconds of an all-reduce of so many bytes over so many workers, equal hosts of a cluster."""

WAYS: dict[str, CostModel] = {
    "single server": single_server,
    "separate servers": separate_servers,
    "colocated servers": lambda cluster, n, size: phases(cluster, Direct, one_level(n, size)),
    "ring": lambda cluster, n, size: phases(cluster, Ring, one_level(n, size)),
    "tree": tree,
    "two-level servers": lambda cluster, n, size: phases(cluster, Direct, two_level(n, size, near_root(n))),
    "two-level rings": lambda cluster, n, size: phases(cluster, Ring, two_level(n, size, near_root(n))),
}
"""The ways to add up, by name; on two levels, groups are about as many as their members."""


def crossover(
    one: CostModel, other: CostModel, cluster: Cluster, world_size: int, most: float = 2.0**50
) -> float | None:
    """Returns the bytes at which two ways take equally long, to a hundredth; None if one is faster from 1 to ``most``.

    It is found by halving, so the ways cross once at most.
    """
    wins = lambda size: one(cluster, world_size, size) < other(cluster, world_size, size)
    low, high = 1.0, most
    if wins(low) == wins(high):
        return None
    while high > 1.01 * low:
        middle = sqrt(low * high)
        low, high = (middle, high) if wins(middle) == wins(low) else (low, middle)
    return sqrt(low * high)


class Messages(NamedTuple):
    """What one all-reduce asks of machines: how many messages the busiest one is ``sent``, how many are ``in_a_row``.

    Those in a row each wait for the one before.
    """

    sent: int
    in_a_row: int


def messages(way: str, world_size: int) -> Messages:
    """Returns the messages of a way. Raises ValueError if it is none of `WAYS`."""
    others, levels = world_size - 1, (world_size - 1).bit_length()
    group = near_root(world_size)
    on_levels = 2 * (group - 1) + 2 * (world_size // group - 1)
    found = {
        "single server": Messages(world_size, 2),
        "separate servers": Messages(world_size, 2),
        "colocated servers": Messages(2 * others, 2),
        "ring": Messages(2 * others, 2 * others),
        "tree": Messages(levels, 2 * levels),
        "two-level servers": Messages(on_levels, 4),
        "two-level rings": Messages(on_levels, on_levels),
    }
    if way not in found:
        raise ValueError(f"a way is one of {', '.join(WAYS)}, got {way}")
    return found[way]


def tensors(way: str, world_size: int) -> float:
    """Returns how many tensors pass the fullest link one after another; raises ValueError as `messages` does."""
    found = {
        "single server": loads.servers(1, world_size),
        "separate servers": loads.servers(world_size, world_size),
        "tree": loads.tree(world_size),
    }
    if way not in WAYS:
        raise ValueError(f"a way is one of {', '.join(WAYS)}, got {way}")
    return loads.fullest(found.get(way, loads.spread(world_size)))


def near_root(number: int) -> int:
    """Returns the largest divisor of a number that is at most its root."""
    return max(d for d in range(1, isqrt(number) + 1) if number % d == 0)


def predict(
    way: str,
    world_size: int,
    size: float,
    rate: float,
    alpha: float,
    per_message: float = 0.0,
    per_byte: float = 0.0,
) -> float:
    """Returns the seconds of an all-reduce of ``size`` bytes over so many workers, which begin at once.

    Links have ``rate`` B/s, messages are ``alpha`` seconds on their way, and take the receiver's processor
    ``per_message`` seconds, and ``per_byte`` for each byte that it adds up. Raises ValueError if ``way`` is none of
    `WAYS`, ``world_size`` below 1, ``size`` negative, or the cluster is one that there cannot be.
    """
    if way not in WAYS:
        raise ValueError(f"a way is one of {', '.join(WAYS)}, got {way}")
    if world_size < 1 or size < 0:
        raise ValueError(f"there are at least 1 worker and 0 bytes, got {world_size} and {size}")
    return WAYS[way](Cluster(rate, alpha, per_message, per_byte), world_size, size)


def sweep(cluster: Cluster, world_sizes: Iterable[int], size: float) -> dict[str, list[float]]:
    """Returns the seconds of an all-reduce by every way, for each number of workers."""
    numbers = list(world_sizes)
    return {way: [seconds(cluster, n, size) for n in numbers] for way, seconds in WAYS.items()}


def _alpha(cluster: Cluster) -> float:
    return cluster.alphas(1)[0]


def _costs(cluster: Cluster, share: float, adds: bool) -> tuple[float, float]:
    """Returns the seconds that a message takes a link, and its receiver's processor."""
    added = cluster.per_byte * share if adds else 0.0
    return share / cluster.rates(1)[0], cluster.per_message + added
