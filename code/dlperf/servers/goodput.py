"""The store over links of 1 Gbit/s: a server or a worker on each host of a network, and how long a round takes.

The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

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


def work(rank: int, told: bytes, first: int, size: int, repeats: int) -> dict[str, list[float]]:
    """Returns the seconds in which a worker's host has pushed and then pulled ``size`` bytes; others return nothing.

    Host ``first`` is the first worker.
    """
    found: dict[str, list[float]] = {"push": [], "pull": [], "both": []}
    if rank < first:
        return found
    with connect(msgspec.json.decode(told, type=Config), rank - first) as store:
        value = torch.ones(size // 4)
        store.create("w", value)
        for turn in range(repeats + 1):
            store.clock()  # all begin together
            start = perf_counter()
            store.push("w", value)
            pushed = perf_counter()
            store.clock()
            begun = perf_counter()
            store.pull("w")
            end = perf_counter()
            if turn:  # the first warms up
                for name, seconds in (("push", pushed - start), ("pull", end - begun), ("both", end - start)):
                    found[name].append(seconds)
    return found


def measured(servers: Sequence[int], workers: int, size: int, repeats: int = 5) -> dict[int, dict[str, Measurement]]:
    """Returns, for each number of servers, the seconds until the last worker had pushed, had pulled, and ``both``.

    Every host has a link of 1 Gbit/s, and what crosses it is encrypted. Raises `dlperf.network.Unavailable` where
    there can be no network.
    """
    taken, first = {}, max(servers)
    with tempfile.TemporaryDirectory() as folder, Network(first + workers) as network:
        keys = security.make_keys(Path(folder) / "keys")
        for number in servers:
            told = msgspec.json.encode(config(number, workers, str(keys)))
            network.run(hosts.start, told)
            found = network.run(work, told, first, size, repeats, timeout=300)[first:]
            network.run(hosts.stop)
            taken[number] = _columns(found, f"{number} servers, {workers} workers, {size} bytes")
    return taken


def _columns(found: Sequence[dict[str, list[float]]], what: str) -> dict[str, Measurement]:
    """Returns what the slowest worker took in each turn, by what it did."""
    here = environment("cpu")
    columns = {name: tuple(map(max, zip(*(each[name] for each in found), strict=True))) for name in found[0]}
    return {name: Measurement(samples, "s", f"{name}: {what}", 1, here) for name, samples in columns.items()}
