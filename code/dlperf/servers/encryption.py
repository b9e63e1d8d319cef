"""What encryption costs a round of the store: the same pushes and pulls on loopback, with keys and without, in turns.

No link limits loopback, so what differs is what processors do. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import msgspec
import torch

from dlperf.environment import cores, environment
from dlperf.kvstore import Config, Store, connect, local, security
from dlperf.measurement import Measurement
from dlperf.servers.small_operations import spent
from dlperf.turns import interleave
from dlperf.workers import Workers

LIMIT = 120.0
"""So many seconds may anything take."""


class Round(NamedTuple):
    """The seconds of a round until the last worker was done, and those that all processes had of ``processors``."""

    seconds: float
    processors: float


@dataclass(frozen=True)
class Cost:
    """What rounds took by the clock, and of the processors of all servers and workers."""

    seconds: Measurement
    processors: Measurement

    @property
    def by_cores(self) -> Measurement:
        """The seconds of a round, if the cores that all processes share are all that counts."""
        return self.processors / float(cores())


def measured(size: int, servers: int = 4, workers: int = 4, repeats: int = 5) -> dict[str, Cost]:
    """Returns what pushing and pulling ``size`` bytes takes, "encrypted" and "plain"; the two take turns.

    All bytes cross TCP, as they would between machines. Raises RuntimeError where the system does not tell what
    processes have computed: Linux does.
    """
    with ExitStack() as open_:
        keys = security.make_keys(Path(open_.enter_context(tempfile.TemporaryDirectory())) / "keys")
        clusters, told = {}, {}
        for name, folder in {"encrypted": str(keys), "plain": None}.items():
            config = local.config(servers, workers, nearby="tcp", keys=folder)
            clusters[name] = open_.enter_context(local.Cluster(config))
            told[name] = msgspec.json.encode(config)
        crew = open_.enter_context(Workers(workers))
        crew.run(join, told, size, timeout=LIMIT)
        found = interleave({name: partial(_one, crew, cluster, name) for name, cluster in clusters.items()}, repeats)
        crew.run(leave, timeout=LIMIT)
    here = environment("cpu")
    what = f"a round of {size} bytes, {servers} servers, {workers} workers"
    return {
        name: Cost(
            turns.measurement(lambda each: each.seconds, "s", f"{name}: {what}", 1, here),
            turns.measurement(lambda each: each.processors, "s", f"{name}: processors, {what}", 1, here),
        )
        for name, turns in found.items()
    }


def _one(crew: Workers, cluster: local.Cluster, name: str) -> Round:
    pids = [process.pid for process in (*cluster.servers, *crew.processes) if process and process.pid]
    before = _computed(pids)
    begun, ended = zip(*crew.run(take, name, timeout=LIMIT), strict=True)
    return Round(max(ended) - min(begun), _computed(pids) - before)


def _computed(pids: Sequence[int]) -> float:
    return sum(spent(pid).process for pid in pids)


# In a worker's process.

_stores: dict[str, Store] = {}
_tensors: list[torch.Tensor] = []
"""What a worker pushes, and where it pulls to: new memory would cost time of its own."""


def join(rank: int, told: dict[str, bytes], size: int) -> None:
    """Connects a worker to each cluster, and has each store keep ``size`` bytes."""
    _tensors.extend([torch.ones(size // 4), torch.empty(size // 4)])
    for name, config in told.items():
        _stores[name] = connect(msgspec.json.decode(config, type=Config), rank)
        _stores[name].create("w", _tensors[0])


def take(rank: int, name: str) -> tuple[float, float]:
    """Returns the moments at which a worker's round began and had ended, by the clock that all processes share."""
    store, (mine, total) = _stores[name], _tensors
    begun = perf_counter()
    store.push("w", mine)
    store.clock()
    store.pull("w", out=total)
    return begun, perf_counter()


def leave(rank: int) -> None:
    """Ends a worker's connections."""
    while _stores:
        _stores.popitem()[1].close()
    _tensors.clear()
