"""Clusters for the tests of the simulation, and every way to run an all-reduce in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dlperf.servers import simulation
from dlperf.servers.at_scale import near_root
from dlperf.servers.events import Cluster, Simulation
from dlperf.servers.phases import Direct, Ring, in_phases, one_level, two_level

Run = Callable[[Simulation, Sequence[float], float], list[float]]

RUNS: dict[str, Run] = {
    "single server": simulation.through_servers,
    "separate servers": simulation.through_servers,
    "colocated servers": lambda s, r, size: in_phases(s, r, Direct, one_level(len(r), size)),
    "ring": lambda s, r, size: in_phases(s, r, Ring, one_level(len(r), size)),
    "tree": simulation.tree,
    "two-level servers": lambda s, r, size: in_phases(s, r, Direct, two_level(len(r), size, near_root(len(r)))),
    "two-level rings": lambda s, r, size: in_phases(s, r, Ring, two_level(len(r), size, near_root(len(r)))),
}


def hosts(way: str, workers: int) -> int:
    """Returns how many hosts a way takes for so many workers."""
    return workers + {"single server": 1, "separate servers": workers}.get(way, 0)


def run(way: str, cluster: Cluster, ready: Sequence[float], size: float) -> tuple[Simulation, list[float]]:
    """Returns the simulation when all is over, and when each worker had the sum."""
    sim = Simulation(cluster, hosts(way, len(ready)))
    return sim, RUNS[way](sim, ready, size)


def drawn(number: int, seed: int, costs: bool = True) -> Cluster:
    """Returns a cluster in which each host has a rate and an alpha of its own, and none is like another."""
    draw = np.random.default_rng(seed)
    rates, alphas = draw.lognormal(0, 1, number), draw.exponential(0.3, number)
    per_message, per_byte = draw.exponential(0.1, 2) if costs else (0.0, 0.0)
    return Cluster(rates.tolist(), alphas.tolist(), float(per_message), float(per_byte))
