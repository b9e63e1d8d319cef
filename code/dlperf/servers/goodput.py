"""The store over links of 1 Gbit/s: a server or a worker on each host of a network, and how long a round takes.

The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import torch

from dlperf.environment import environment
from dlperf.kvstore import Config, connect, security
from dlperf.measurement import Measurement
from dlperf.network import Network, address
from dlperf.servers import hosts

PORT = 5570


def config(servers: int, workers: int, keys: str, **options: Any) -> Config:
    """Returns a cluster on the hosts of a network: the scheduler and the servers on the first ones, then workers."""
    listening = tuple(f"{address(host)}:{PORT + 1}" for host in range(servers))
    return Config(scheduler=f"{address(0)}:{PORT}", servers=listening, workers=workers, keys=keys, **options)


def bound(servers: int, workers: int, size: float) -> float:
    """Returns the seconds in which all workers can push and then pull ``size`` bytes, if links are all that counts."""
    return 2 * max(workers / servers, 1) * size * hosts.BETA


class Round(NamedTuple):
    """The moments, by one clock of all hosts, between which a worker pushed, and those between which it pulled."""

    begun: float
    pushed: float
    pulling: float
    pulled: float


def work(rank: int, told: bytes, first: int, size: int, repeats: int) -> list[Round]:
    """Returns a worker's rounds, in which it pushes and then pulls ``size`` bytes; servers' hosts return none.

    Host ``first`` is the first worker.
    """
    found: list[Round] = []
    if rank < first:
        return found
    with connect(msgspec.json.decode(told, type=Config), rank - first) as store:
        value = torch.ones(size // 4)
        store.create("w", value)
        for turn in range(repeats + 1):
            store.clock()  # all begin together
            begun = perf_counter()
            store.push("w", value)
            pushed = perf_counter()
            store.clock()
            pulling = perf_counter()
            store.pull("w")
            if turn:  # the first warms up
                found.append(Round(begun, pushed, pulling, perf_counter()))
    return found


def measured(servers: Sequence[int], workers: int, size: int, repeats: int = 5) -> dict[int, dict[str, Measurement]]:
    """Returns, for each number of servers, the seconds until the last worker had pushed, had pulled, and ``both``.

    They begin with the first worker: one that comes late, and has the link for itself then, would seem fast.

    Every host has a link of 1 Gbit/s, and what crosses it is encrypted. Raises `dlperf.network.Unavailable` where
    there can be no network.
    """
    taken, first = {}, max(servers)
    with tempfile.TemporaryDirectory() as folder, Network(first + workers) as network:
        keys = security.make_keys(Path(folder) / "keys")
        for number in servers:
            told = msgspec.json.encode(config(number, workers, str(keys)))
            network.run(hosts.start, told, timeout=300)
            found = network.run(work, told, first, size, repeats, timeout=300)[first:]
            network.run(hosts.stop, timeout=300)
            taken[number] = _columns(found, f"{number} servers, {workers} workers, {size} bytes")
    return taken


SPANS = {"push": ("begun", "pushed"), "pull": ("pulling", "pulled"), "both": ("begun", "pulled")}
"""Between which moments of a `Round` each lies."""


def _columns(found: Sequence[Sequence[Round]], what: str) -> dict[str, Measurement]:
    """Returns the seconds from when the first worker began until the last had ended, in each round."""
    here, columns = environment("cpu"), {}
    for name, (begin, end) in SPANS.items():
        rounds = zip(*found, strict=True)
        columns[name] = tuple(
            max(getattr(r, end) for r in all_) - min(getattr(r, begin) for r in all_) for all_ in rounds
        )
    return {name: Measurement(samples, "s", f"{name}: {what}", 1, here) for name, samples in columns.items()}
