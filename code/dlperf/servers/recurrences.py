"""The same simulation for many hosts that differ: all that a queue does is a sum and a maximum, in NumPy.

Who takes ``c`` seconds for each and is asked at ``a[k]``, in order, is done at ``max(a[k], done[k-1]) + c``: a linear
recurrence, where + is the maximum and · is +. Source: Baccelli, Cohen, Olsder and Quadrat, Synchronization and
Linearity, 1992, chapter 1. Each way returns what the events would: when each worker has the sum, of ``size`` bytes
that it had at its second of ``ready``. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlperf.servers.events import Cluster
from dlperf.servers.simulation import Order, children, own_rank

Times = NDArray[np.float64]
"""Seconds, by host."""


def served(asked: Times, seconds: Times | float) -> Times:
    """Returns when a queue is done with each that asked, in order.

    The last axis is that of the queue. Each takes so many ``seconds``.
    """
    total = np.cumsum(np.broadcast_to(seconds, asked.shape), axis=-1)
    ahead = asked - (total - seconds)
    return np.maximum.accumulate(ahead, axis=-1) + total


def ring(cluster: Cluster, ready: Times, size: float) -> Times:
    """Returns when each worker has the sum, by a ring: reduce-scatter and all-gather."""
    n = len(ready)
    link, alpha = _links(cluster, n, size / n)
    late = alpha + np.maximum(0, link - np.roll(link, -1))
    costs = [_adding(cluster, size / n), cluster.per_message]
    have, away, here = ready, np.zeros(n), np.zeros(n)
    for cost in np.repeat(costs, n - 1):
        begin = np.maximum(have, away)
        away = begin + link
        arrival = np.roll(begin + late, 1)  # at the next
        here = np.maximum(arrival, here) + link
        have = np.maximum(here, have) + cost
    return have


def tree(cluster: Cluster, ready: Times, size: float) -> Times:
    """Returns when each worker has the sum, up a binomial tree to rank 0 and down again."""
    n = len(ready)
    link, alpha = _links(cluster, n, size)
    has, below = ready.copy(), [np.array(children(rank, n), int) for rank in range(n)]
    for rank in reversed(range(n)):  # children have higher ranks
        if len(below[rank]):
            late = alpha[below[rank]] + np.maximum(0, link[below[rank]] - link[rank])
            has[rank] = _last(has[below[rank]] + late, link[rank], _adding(cluster, size), has[rank])
    for rank in range(n):
        turn = np.arange(len(below[rank]))[::-1]  # the largest subtree first
        into = link[below[rank]]
        late = turn * link[rank] + alpha[rank] + np.maximum(0, link[rank] - into)
        has[below[rank]] = has[rank] + late + into + cluster.per_message
    return has


def through_servers(cluster: Cluster, ready: Times, servers: int, size: float, first: Order = own_rank) -> Times:
    """Returns when each worker has the sum, through so many servers on hosts of their own.

    ``first`` is whom each begins with, by rank. Memory: a few matrices of workers by servers.
    """
    n = len(ready)
    link, alpha = _links(cluster, n + servers, size / servers)
    worker, server = np.arange(n), np.arange(servers)
    own, theirs = link[:n], link[n:]
    turn = (server[:, None] - first(worker)) % servers
    arrival = ready + turn * own + alpha[:n] + np.maximum(0, own - theirs[:, None])
    summed = _last(arrival, theirs[:, None], _adding(cluster, size / servers), 0.0)
    turn = (worker[:, None] - first(server)) % n
    arrival = summed + turn * theirs + alpha[n:] + np.maximum(0, theirs - own[:, None])
    return _last(arrival, own[:, None], cluster.per_message, ready)


def colocated(cluster: Cluster, ready: Times, size: float) -> Times:
    """Returns when each worker has the sum, where every host is a worker and a server.

    A sum may arrive before gradients do, which then wait behind it, and that other server's sum is later. So it
    starts without sums, and repeats with those it found, until they stay: each time at least the next to be ready is
    right. Memory: a few matrices of workers by workers.
    """
    n = len(ready)
    link, alpha = _links(cluster, n, size / n)
    if n == 1:
        return ready
    target = np.arange(n)[:, None]
    source = (target - np.arange(1, n)) % n  # by turn
    late = np.arange(n - 1) * link[source] + alpha[source] + np.maximum(0, link[source] - link[target])
    away, summed = ready + (n - 1) * link, np.full(n, np.inf)
    while True:
        sums = np.maximum(summed, away)[source] + late
        arrival = np.concatenate([ready[source] + late, sums], axis=1)
        order = np.argsort(arrival, axis=1, kind="stable")
        come = served(np.take_along_axis(arrival, order, axis=1), link[target])
        come[:, 0] = np.maximum(come[:, 0], ready)
        adds = order < n - 1
        seen = served(come, np.where(adds, _adding(cluster, size / n), cluster.per_message))
        before, summed = summed, np.max(seen, axis=1, where=adds, initial=0.0)
        if np.array_equal(before, summed):
            return seen[:, -1]


def _last(arrival: Times, link: Times | float, cost: float, busy: Times | float) -> Times:
    """Returns when a host has seen to all that arrived, along the last axis; its processor is busy until then."""
    come = served(np.sort(arrival), link)
    come[..., 0] = np.maximum(come[..., 0], busy)
    return served(come, cost)[..., -1]


def _links(cluster: Cluster, hosts: int, share: float) -> tuple[Times, Times]:
    """Returns how many seconds a share takes each host's link, and is on its way."""
    return share / np.array(cluster.rates(hosts)), np.array(cluster.alphas(hosts))


def _adding(cluster: Cluster, share: float) -> float:
    return cluster.per_message + cluster.per_byte * share
