"""Measure how many small pushes per second one server takes, and the CPU time that each costs it.

A server is one thread of Python, and beside it one of ZeroMQ's that moves bytes. Where values are small it is the
first that has no time left: a push costs it so many seconds, and one over these is the most pushes in a second that
it can take, whoever sends them. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import torch
from torch import Tensor

from dlperf.environment import environment
from dlperf.kvstore import Config, Store, connect, local
from dlperf.measurement import Measurement
from dlperf.turns import InterleavedSamples, interleave
from dlperf.workers import Workers, synchronized_start, wait_until

SIZES = (64, 1024, 4096, 16384, 65536)
WORKERS = 2
LIMIT = 60.0
"""So many seconds may anything take."""


def each(store: Store, key: str, value: Tensor, count: int) -> None:
    """Pushes so often, each time when the push before counts."""
    for _ in range(count):
        store.push(key, value)


def all_at_once(store: Store, key: str, value: Tensor, count: int) -> None:
    """Begins so many pushes, and waits for all of them."""
    for push in [store.start_push(key, value) for _ in range(count)]:
        push.wait()


WAYS: dict[str, tuple[int, Callable[[Store, str, Tensor, int], None]]] = {
    "waiting for each": (1, each),
    "many under way": (1, all_at_once),
    "two workers": (WORKERS, all_at_once),
}
"""By name: how many workers push, and how each does."""


class Spent(NamedTuple):
    """The seconds that a process has had of processors: of them its first thread, which runs ``python``, and all."""

    python: float
    process: float


class Pushes(NamedTuple):
    """So many pushes took so many seconds, and the server `Spent`."""

    number: int
    seconds: float
    spent: Spent


@dataclass(frozen=True)
class Cost:
    """What a push takes: ``seconds`` by the clock, ``python`` of the server's Python, ``server`` of all its threads."""

    seconds: Measurement
    python: Measurement
    server: Measurement

    @property
    def rate(self) -> Measurement:
        """How many pushes counted in a second."""
        return self.seconds.per_second(1, "1")

    @property
    def most(self) -> Measurement:
        """How many would have if the server's Python had never waited."""
        return self.python.per_second(1, "1")

    @property
    def busy(self) -> Measurement:
        """Which share of the time the server's Python was at work."""
        return self.python / self.seconds


def spent(pid: int) -> Spent:
    """Returns what a process has had of processors so far; raises RuntimeError where the system does not tell.

    Linux tells it of each thread, in nanoseconds where its scheduler counts them, or else in ticks.
    """
    threads = {}
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            threads[int(thread.name)] = _seconds(thread)
    except OSError as error:
        raise RuntimeError(f"what a thread has computed Linux tells in /proc: {error}") from None
    return Spent(threads[pid], sum(threads.values()))


def _seconds(thread: Path) -> float:
    counted = thread / "schedstat"
    if counted.exists():
        return int(counted.read_text(encoding="ascii").split()[0]) / 1e9
    fields = (thread / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # in the system and out of it


def measured(sizes: Sequence[int] = SIZES, operations: int = 200, repeats: int = 5) -> dict[tuple[str, int], Cost]:
    """Returns what a push takes by the way and the bytes of the value, where one server keeps all; all take turns.

    Server and workers share this machine, and pushes wait for nobody's round. Each worker makes so many ``operations``
    a turn. Raises ArithmeticError where a value is not what was pushed in the end.
    """
    config = local.config(1, WORKERS, staleness=None)
    with ExitStack() as open_:
        cluster = open_.enter_context(local.Cluster(config))
        crew = open_.enter_context(Workers(WORKERS))
        crew.run(join, msgspec.json.encode(config), tuple(sizes), timeout=LIMIT)
        server = cluster.servers[0].pid
        sides = {(way, size): partial(one_turn, crew, server, way, size, operations) for size in sizes for way in WAYS}
        found = interleave(sides, repeats)
        in_a_turn = operations * sum(workers for workers, _ in WAYS.values())
        crew.run(leave, (repeats + 1) * in_a_turn, tuple(sizes), timeout=LIMIT)
    here = environment("cpu")
    return {side: _cost(turns, "{}, {} bytes".format(*side), here) for side, turns in found.items()}


def _cost(turns: InterleavedSamples[Pushes], what: str, here: dict[str, Any]) -> Cost:
    columns: dict[str, Callable[[Pushes], float]] = {
        "seconds": lambda pushes: pushes.seconds,
        "python": lambda pushes: pushes.spent.python,
        "server": lambda pushes: pushes.spent.process,
    }
    count = turns[0].number
    per_push = lambda name: lambda pushes: columns[name](pushes) / count
    return Cost(*(turns.measurement(per_push(name), "s", f"{name}, {what}", count, here) for name in columns))


def one_turn(crew: Workers, server: int, way: str, size: int, operations: int) -> Pushes:
    """Returns what it took, from the moment at which the workers of a way began, until the last was done."""
    before = spent(server)
    seconds = max(crew.run(push, way, size, operations, synchronized_start(), timeout=LIMIT))
    after = spent(server)
    workers, _ = WAYS[way]
    return Pushes(workers * operations, seconds, Spent(after.python - before.python, after.process - before.process))


# In a worker's process.

_stores: list[Store] = []


def join(rank: int, told: bytes, sizes: Sequence[int]) -> None:
    """Connects a worker, and has the store keep a value of each size."""
    _stores.append(connect(msgspec.json.decode(told, type=Config), rank))
    for size in sizes:
        _stores[0].create(f"{size} bytes", torch.zeros(size // 4))


def push(rank: int, way: str, size: int, operations: int, moment: float) -> float:
    """Returns the seconds after a moment, at which it begins, until all of a worker's pushes count; 0 for who has none.

    Moments are those of `dlperf.workers.soon`.
    """
    workers, pushes = WAYS[way]
    if rank >= workers:
        return 0.0
    wait_until(moment)
    pushes(_stores[0], f"{size} bytes", torch.ones(size // 4), operations)
    return perf_counter() - moment


def leave(rank: int, pushed: int, sizes: Sequence[int]) -> None:
    """Ends a worker's connection; the first raises ArithmeticError where a value was not pushed to so often."""
    for size in sizes if rank == 0 else ():
        value = _stores[0].pull(f"{size} bytes")
        if not bool((value == pushed).all()):
            raise ArithmeticError(f"{size} bytes: {pushed} pushes of 1 are {pushed}, got {value.unique().tolist()}")
    _stores.pop().close()
