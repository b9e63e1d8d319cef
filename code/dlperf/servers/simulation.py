"""Adding up the gradients of all workers in a simulated cluster, through servers or along a tree.

Each way returns the seconds when each worker has the sum, of ``size`` bytes that it had at its second of ``ready``.
The first hosts of the simulation are the workers; those beyond are servers. The chapter *Parameter servers* tells
the story.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dlperf.servers.events import Simulation

Order = Callable[[Any], Any]
"""Returns which destination a host begins with, of its rank or an array of ranks; the others follow, round robin."""


def own_rank(rank: int) -> int:
    """Returns the rank itself: all begin with another destination."""
    return rank


def zero(rank: int) -> int:
    """Returns 0: all begin with the same destination, and meet there (incast)."""
    return 0


def through_servers(
    sim: Simulation,
    ready: Sequence[float],
    size: float,
    first: Order = own_rank,
) -> list[float]:
    """Returns when each worker has the sum, of which each server adds a share.

    Servers are the hosts beyond the workers; raises ValueError where there
    is none. Source: Li et al., Scaling Distributed Machine Learning with the
    Parameter Server, OSDI 2014.
    """
    workers, servers = len(ready), sim.hosts - len(ready)
    if servers < 1:
        raise ValueError(f"{workers} workers need a server: got {sim.hosts} hosts")
    share, heard, done = size / servers, Counter[int](), [0.0] * workers

    def push(worker: int) -> None:
        for k in range(servers):
            server = workers + (first(worker) + k) % servers
            sim.send(worker, server, share, partial(add, server), adds=True)

    def add(server: int) -> None:
        heard[server] += 1
        if heard[server] == workers:  # the sum is complete
            for k in range(workers):
                worker = (first(server - workers) + k) % workers
                sim.send(server, worker, share, partial(pull, worker))

    def pull(worker: int) -> None:
        done[worker] = sim.clock.now

    sim.start(ready, push)
    return done


def tree(sim: Simulation, ready: Sequence[float], size: float) -> list[float]:
    """Returns when each worker has the sum: up a binomial tree to rank 0, and down again.

    A rank's parent lacks its lowest bit. Source: Thakur, Rabenseifner and Gropp, Optimization of collective
    communication operations in MPICH, IJHPCA 19 (2005).
    """
    workers, heard, done = len(ready), Counter[int](), [0.0] * len(ready)

    def has_added(rank: int) -> None:
        if heard[rank] < len(children(rank, workers)):
            return
        if rank == 0:
            pass_on(rank)
        else:
            parent = rank & (rank - 1)
            sim.send(rank, parent, size, partial(add, parent), adds=True)

    def add(rank: int) -> None:
        heard[rank] += 1
        if rank in awake:
            has_added(rank)

    def pass_on(rank: int) -> None:
        done[rank] = sim.clock.now
        below = children(rank, workers)
        for child in reversed(below):  # the largest subtree first
            sim.send(rank, child, size, partial(pass_on, child))

    awake: set[int] = set()

    def wake(rank: int) -> None:
        awake.add(rank)
        has_added(rank)

    sim.start(ready, wake)
    return done


def children(rank: int, world_size: int) -> list[int]:
    """Returns the children of a rank in a binomial tree, the smallest subtree first."""
    below = range(((rank & -rank) or world_size).bit_length() - (rank > 0))
    return [rank + 2**k for k in below if rank + 2**k < world_size]
