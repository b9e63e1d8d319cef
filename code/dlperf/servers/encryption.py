"""Measure the overhead of encryption in a push-pull round of the store, against the same cluster without keys.

Each host has a server and a worker of both clusters, which take turns. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import torch

from dlperf.environment import environment
from dlperf.kvstore import Config, Store, connect, security
from dlperf.measurement import Measurement
from dlperf.network import Network
from dlperf.servers import goodput, hosts
from dlperf.turns import interleave

LIMIT = 300.0
"""So many seconds may anything take."""


def measured(size: int, workers: int = 4, repeats: int = 5) -> dict[str, Measurement]:
    """Returns the seconds in which all workers have pushed and pulled ``size`` bytes, "encrypted" and "plain", in turn.

    Servers are on the workers' hosts. Raises `dlperf.network.Unavailable` where there can be no network.
    """
    with tempfile.TemporaryDirectory() as folder, Network(workers) as network:
        keys = str(security.make_keys(Path(folder) / "keys"))
        run = partial(network.run, timeout=LIMIT)
        for name, config in _clusters(workers, keys).items():
            told = msgspec.json.encode(config)
            run(hosts.start, told)
            run(join, name, told, size)
        found = interleave({name: partial(_round, network, name) for name in _clusters(workers, keys)}, repeats)
        run(leave)
        run(hosts.stop)
    what = f"a round of {size} bytes, servers on {workers} workers' hosts"
    return {
        name: turns.measurement(float, "s", f"{name}: {what}", 1, environment("cpu")) for name, turns in found.items()
    }


def _clusters(workers: int, keys: str) -> dict[str, Config]:
    """Returns the same cluster with keys and without, on ports of their own; in neither is anybody given up."""
    patient: dict[str, Any] = {"lease": 50.0, "dead": 60.0}
    return {
        "encrypted": goodput.config(workers, workers, keys, **patient),
        "plain": goodput.config(workers, workers, None, port=goodput.PORT + 10, **patient),
    }


def _round(network: Network, name: str) -> float:
    begun, ended = zip(*network.run(take, name, timeout=LIMIT), strict=True)
    return max(ended) - min(begun)


# On a host.

_stores: dict[str, Store] = {}
_values: list[torch.Tensor] = []
"""What a worker pushes, and where it pulls to: new memory would cost time of its own."""


def join(rank: int, name: str, told: bytes, size: int) -> None:
    """Connects a worker to a cluster, and has the store keep ``size`` bytes."""
    if not _values:
        _values.extend([torch.ones(size // 4), torch.empty(size // 4)])
    _stores[name] = connect(msgspec.json.decode(told, type=Config), rank)
    _stores[name].create("w", _values[0])


def take(rank: int, name: str) -> tuple[float, float]:
    """Returns the moments at which a worker's round began and had ended, by the clock that all hosts share."""
    store, (mine, total) = _stores[name], _values
    store.clock()  # all begin together
    begun = perf_counter()
    store.push("w", mine)
    store.clock()
    store.pull("w", out=total)
    return begun, perf_counter()


def leave(rank: int) -> None:
    """Ends a worker's connections."""
    while _stores:
        _stores.popitem()[1].close()
    _values.clear()
