"""Adding up over two workers by Ray: each puts an array into Ray's memory, and an actor the sum; all fetch these.

A node of Ray has its own memory, which all processes on it share: on one node nothing crosses a network. With a node
for each of the three, everything does, though they are on one machine. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import numpy as np

from dlperf.workers import soon, wait_until

WORKERS = 2
BY_TCP, SHARED = "Ray", "Ray, shared memory"
NODES = {BY_TCP: (0, 1, 2), SHARED: (0, 0, 0)}
"""By way: on which node the one that adds up is, and on which the workers are."""


class Adder:
    """An actor, which adds up what the workers have put into Ray's memory."""

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
    """An actor, which has an array and wants the sum over both."""

    def __init__(self, adder: Any, size: int) -> None:
        self.adder, self.mine = adder, np.zeros(size // 4, np.float32)

    def prepare(self) -> None:
        """Has ones in the array."""
        self.mine.fill(1)

    def add_up(self, moment: float) -> float:
        """Returns the seconds after a moment, at which it begins, until it has the sum in its array."""
        import ray

        wait_until(moment)
        [total] = ray.get(self.adder.add.remote(ray.put(self.mine)))
        np.copyto(self.mine, ray.get(total))
        seconds = perf_counter() - moment
        if not (self.mine == WORKERS).all():
            raise ArithmeticError(f"the sum over {WORKERS} workers is {WORKERS}, got {np.unique(self.mine).tolist()}")
        return seconds


_open = ExitStack()
_workers: dict[str, list[Any]] = {}
"""In the process that has started Ray: the actors, by way."""


def start(ways: list[str], size: int) -> None:
    """Starts a Ray on loopback with the actors of these ways, for arrays of ``size`` bytes.

    Raises RuntimeError where Ray was imported before this could tell it to listen to nobody else.
    """
    from dlperf.kvstore.config import is_loopback
    from dlperf.kvstore.ray_alone import ALONE

    os.environ.update(ALONE)
    import ray
    from ray.cluster_utils import Cluster

    node: dict[str, Any] = {
        "num_cpus": 1,
        "object_store_memory": max(6 * size, 80 * 2**20),
    }  # what is there twice in each round
    nodes = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    _open.callback(nodes.shutdown)
    if not is_loopback(nodes.address):
        raise RuntimeError(f"Ray listens on {nodes.address}, not on loopback: it was imported before others_ray.start")
    for _ in range(max(max(NODES[way]) for way in ways)):
        nodes.add_node(**node)
    ray.init(address=nodes.address, log_to_driver=False, logging_level=logging.ERROR)
    _open.callback(ray.shutdown)
    ids = [each["NodeID"] for each in ray.nodes()]
    for way in ways:
        first, *others = (_on(ids[node]) for node in NODES[way])
        adder = ray.remote(Adder).options(**first).remote()
        _workers[way] = [ray.remote(Worker).options(**other).remote(adder, size) for other in others]


def _on(node: str) -> dict[str, Any]:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return {"num_cpus": 0, "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False)}


def clocked(way: str) -> float:
    """Returns the seconds until both workers have the sum, from the moment at which both begin."""
    ray = sys.modules["ray"]
    ray.get([worker.prepare.remote() for worker in _workers[way]])
    moment = soon()
    return float(max(ray.get([worker.add_up.remote(moment) for worker in _workers[way]])))


def leave() -> None:
    """Ends Ray, if this process has started it."""
    _workers.clear()
    _open.close()
