"""Pulling one part of a tensor while the next is pushed: a server's link then carries both directions at once.

With as many servers as workers this takes about half of the time of pushing all and then pulling all, and less than a
ring, in which each byte waits for the one before. Source: Jiang et al., A unified architecture for accelerating
distributed DNN training in heterogeneous GPU/CPU clusters (BytePS), OSDI 2020. The chapter *Parameter servers* tells
the story.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import msgspec
import torch
import torch.distributed as dist
from torch import Tensor

from dlperf.environment import environment
from dlperf.kvstore import Config, Store, connect, security
from dlperf.measurement import Measurement
from dlperf.network import GIGABIT, PAYLOAD, Network, address
from dlperf.servers import goodput, hosts, loads
from dlperf.servers.ring import ring
from dlperf.turns import new_pairing_id

RATE = GIGABIT / 5
"""The B/s of each link: so few that links are busy and not the cores of eight hosts."""


def in_parts(store: Store, keys: list[str], values: list[Tensor]) -> None:
    """Pushes a part while the one before is pulled, into its place."""
    pulls = []
    for key, value in zip(keys, values, strict=True):
        store.start_push(key, value)
        store.clock()  # until all have pushed this part
        pulls.append(store.start_pull(key, out=value))  # at once
    for pull in pulls:
        pull.wait()


def in_turn(store: Store, keys: list[str], values: list[Tensor]) -> None:
    """Pushes all, and then pulls all."""
    store.push(keys, values)
    store.clock()
    store.pull(keys, out=values)


WAYS = {"push, then pull": in_turn, "in parts": in_parts}


def predict(workers: int, servers: int, parts: int, sending: float) -> dict[str, float]:
    """Returns the seconds of each of `WAYS`, and of a ring, if a link takes so long to send a whole tensor.

    In parts, pushes and pulls are under way at the same time, except for the first and the last part.
    """
    push, pull = (loads.fullest([phase]) * sending for phase in loads.servers(servers, workers))
    together = max(push, pull) + min(push, pull) / parts
    around = loads.fullest(loads.spread(workers)) * sending
    return {"push, then pull": push + pull, "in parts": together, "ring": around}


def join_ring(worker: int, workers: int, first: int) -> None:
    """Joins the process group of the workers, which begin with host ``first``; servers are in none."""
    dist.init_process_group("gloo", init_method=f"tcp://{address(first)}:29500", rank=worker, world_size=workers)


def work(rank: int, told: bytes, size: int, parts: int, repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Returns when each round began and ended on a worker's host, by the way; servers return none.

    `WAYS` and a ring of the workers take turns. Raises ArithmeticError where a worker has not got the sum of all.
    """
    config, found = msgspec.json.decode(told, type=Config), dict[str, list[tuple[float, float]]]()
    worker = rank - len(config.servers)
    if worker < 0:
        return found
    join_ring(worker, config.workers, len(config.servers))
    whole = torch.empty(size // 4)
    keys, values = [f"part {i}" for i in range(parts)], list(whole.chunk(parts))
    ways = {**WAYS, "ring": lambda store, keys, values: ring(whole)}
    total = 0  # of what is stored, to which each round adds
    with connect(config, worker) as store:
        for key, value in zip(keys, values, strict=True):
            store.create(key, torch.zeros_like(value))
        for turn in range(repeats + 1):
            for way, run in ways.items():
                whole.fill_(1.0)
                total += config.workers if way in WAYS else 0
                store.clock()  # all begin together
                begin = perf_counter()
                run(store, keys, values)
                moments = begin, perf_counter()
                if not bool((whole == (total if way in WAYS else config.workers)).all()):
                    raise ArithmeticError(f"{way}: of {config.workers} ones, {total} stored, there came {whole}")
                if turn:  # the first warms up
                    found.setdefault(way, []).append(moments)
    return found


@dataclass(frozen=True)
class Trial:
    """What a sum of ``size`` bytes took by each of `WAYS` and around a ring, in turn, and what was predicted, in s."""

    size: int
    taken: dict[str, Measurement]
    predicted: dict[str, float]

    def late(self, way: str) -> float:
        """Returns how many times as long as predicted a way took, the shortest time: what disturbs only adds to it."""
        return min(self.taken[way].samples) / self.predicted[way]


def measured(workers: int = 4, servers: int = 4, size: int = 2**23, parts: int = 4, repeats: int = 5) -> Trial:
    """Returns what each way takes, until the last worker has the sum, over links of `RATE`.

    Raises `dlperf.network.Unavailable` where there can be no network.
    """
    with tempfile.TemporaryDirectory() as folder, Network(servers + workers, RATE) as network:
        keys = security.make_keys(Path(folder) / "keys")
        told = msgspec.json.encode(goodput.config(servers, workers, str(keys), lease=50.0, dead=60.0))
        network.run(hosts.start, told, timeout=goodput.LIMIT)
        found = network.run(work, told, size, parts, repeats, timeout=goodput.LIMIT)[servers:]
    turns, here = new_pairing_id(), environment("cpu")
    taken = {
        way: Measurement(_until_the_last([each[way] for each in found]), "s", f"{way}, {size} bytes", 1, here, turns)
        for way in (*WAYS, "ring")
    }
    return Trial(size, taken, predict(workers, servers, parts, size / (RATE * PAYLOAD)))


def _until_the_last(moments: Sequence[Sequence[tuple[float, float]]]) -> tuple[float, ...]:
    """Returns the seconds of each round, from when its first worker began until its last had ended."""
    return tuple(max(end for _, end in each) - min(begin for begin, _ in each) for each in zip(*moments, strict=True))
