"""Adding up over two workers by Ray's object store: each puts an array, an actor puts the sum, and both fetch it.

A node of Ray has a memory that its processes share: on one node nothing crosses a network, on three everything does,
though they are on one machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from dlperf.kvstore import ray_local
from dlperf.workers import synchronized_start, wait_until

WORKERS = 2
BY_TCP, SHARED = "Ray", "Ray, shared memory"
NODES = {BY_TCP: (0, 1, 2), SHARED: (0, 0, 0)}
"""On which node the one that adds up is, and on which the workers are."""


class Adder:
    """An actor, which adds up what the workers have put."""

    def __init__(self) -> None:
        self.theirs: list[Any] = []

    async def add(self, theirs: Any) -> list[Any]:
        """Returns where the sum is, in a list, when the last worker's array has come."""
        import ray

        if not self.theirs:
            self.total = asyncio.get_running_loop().create_future()
        self.theirs.append(theirs)
        total = self.total
        if len(self.theirs) == WORKERS:
            total.set_result(ray.put(sum(self.theirs[1:], self.theirs[0])))
            self.theirs = []
        return [await total]


class Worker:
    """An actor, which has an array of ``size`` bytes and wants the sum over both."""

    def __init__(self, adder: Any, size: int) -> None:
        self.adder, self.mine = adder, np.zeros(size // 4, np.float32)

    def prepare(self) -> None:
        """Has ones in the array."""
        self.mine.fill(1)

    def add_up(self, moment: float) -> float:
        """Returns the seconds from a moment, at which it begins, until it has the sum in its array."""
        import ray

        wait_until(moment)
        [total] = ray.get(self.adder.add.remote(ray.put(self.mine)))
        np.copyto(self.mine, ray.get(total))
        seconds = perf_counter() - moment
        if not (self.mine == WORKERS).all():
            raise ArithmeticError(f"the sum over {WORKERS} workers is {WORKERS}, got {np.unique(self.mine).tolist()}")
        return seconds


@contextmanager
def workers(size: int) -> Iterator[dict[str, list[Any]]]:
    """Actors on a Ray of three nodes on loopback, by the way, for arrays of ``size`` bytes."""
    with ray_local.nodes(3, memory=6 * size, cpus=1):  # in each round, what is there twice
        import ray

        ids = [each["NodeID"] for each in ray.nodes()]
        made = {}
        for way, places in NODES.items():
            first, *others = (_on(ids[place]) for place in places)
            adder = ray.remote(Adder).options(**first).remote()
            made[way] = [ray.remote(Worker).options(**each).remote(adder, size) for each in others]
        yield made


def clocked(actors: list[Any]) -> float:
    """Returns the seconds until both workers have the sum, from the moment at which both begin."""
    import ray

    ray.get([each.prepare.remote() for each in actors])
    moment = synchronized_start()
    return float(max(ray.get([each.add_up.remote(moment) for each in actors])))


def _on(node: str) -> dict[str, Any]:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return {"num_cpus": 0, "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False)}
