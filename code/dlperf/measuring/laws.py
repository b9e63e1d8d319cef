"""Three laws and their experiments: Amdahl's and Gustafson's with pinned worker processes, Little's with a queue."""

from __future__ import annotations

import math
import os
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from dlperf.environment import environment, places
from dlperf.measurement import Measurement
from dlperf.turns import interleave, seconds
from dlperf.workers import Workers

Times = dict[int, Measurement]


def amdahl(serial: float, n: float) -> float:
    """Returns the speedup of ``n`` workers on fixed work whose share ``serial`` cannot be divided.

    ValueError for what is no share or no worker. Source: Amdahl, Validity of the single processor approach, 1967. See
    *Measuring performance*.
    """
    _check(serial, n)
    return 1 / (serial + (1 - serial) / n)


def gustafson(serial: float, n: float) -> float:
    """Returns the scaled speedup of ``n`` workers: each brings its own parallel share.

    ``serial`` is the serial share of the time of one worker. ValueError for what is no share or no worker. Source:
    Gustafson, Reevaluating Amdahl's law, 1988.
    """
    _check(serial, n)
    return serial + (1 - serial) * n


def _check(serial: float, n: float) -> None:
    if not 0 <= serial <= 1 or n < 1:
        raise ValueError(f"a share lies between 0 and 1, and there is one worker or more; got {serial} and {n}")


def little(rate: float, wait: float) -> float:
    """Returns the mean number of requests in a system with ``rate`` arrivals per s that stay ``wait`` s each.

    Source: Little, A proof for the queuing formula L = λW, 1961.
    """
    return rate * wait


PINS = hasattr(os, "sched_setaffinity")
"""Whether this system can pin a process to a core: Linux can."""


def effective_workers(n: int, cores: int, pinned: bool = PINS) -> float:
    """Returns how many workers' worth of speed ``n`` workers have on ``cores`` cores.

    If each is pinned, the core with the most workers finishes last: it has ``ceil(n / cores)`` of ``n``
    equal parts. A system that moves workers about can at best keep all cores busy. ValueError for none of either.
    """
    if n < 1 or cores < 1:
        raise ValueError(f"there is one worker or more on one core or more; got {n} on {cores}")
    return n / math.ceil(n / cores) if pinned else min(n, cores)


def worker_counts(cores: int) -> list[int]:
    """Returns the numbers of workers to try: doubling up to the cores, one more, and twice as many."""
    return sorted({1, *(2**i for i in range(1, 10) if 2**i < cores), cores, cores + 1, 2 * cores})


def spin(amount: int) -> int:
    """Returns the last of ``amount`` steps of a random number generator: arithmetic that touches no memory."""
    x = 1
    for _ in range(amount):
        x = (1103515245 * x + 12345) & 0x7FFFFFFF
    return x


class Crew(Workers):
    """``size`` worker processes on ``cores`` cores, pinned to the first `places` in rotation; a context manager."""

    def __init__(self, size: int, cores: int) -> None:
        super().__init__(size, places()[:cores])

    def __enter__(self) -> Self:
        super().__enter__()
        self.do([1] * self.world_size)  # now each has imported this module
        return self

    def do(self, amounts: Sequence[int]) -> None:
        """Has the first workers spin for ``amounts``, one each, and returns when all are done."""
        self.map(spin, amounts)


def strong_scaling(crew: Crew, counts: Iterable[int], serial: int, parallel: int, repeats: int = 12) -> Times:
    """Returns the time in seconds by number of workers: ``serial`` steps by one, then ``parallel`` shared by all."""
    return _alternately(crew, counts, serial, lambda n: parallel // n, repeats)


def weak_scaling(crew: Crew, counts: Iterable[int], serial: int, parallel: int, repeats: int = 12) -> Times:
    """Returns the time in seconds by number of workers: ``serial`` steps by one, then ``parallel`` by each."""
    return _alternately(crew, counts, serial, lambda n: parallel, repeats)


def _alternately(crew: Crew, counts: Iterable[int], serial: int, share: Callable[[int], int], repeats: int) -> Times:
    def work(n: int) -> None:
        crew.do([serial])
        crew.do([share(n)] * n)

    taken = interleave({n: seconds(partial(work, n)) for n in counts}, repeats, warm_up=0)
    env = environment("cpu")
    told = {n: {**env, "threads": n, "device": f"CPU, {n} processes"} for n in taken}
    return {n: times.measurement(float, "s", str(n), environment=told[n]) for n, times in taken.items()}


@dataclass(frozen=True)
class Queue:
    """What was seen of a queue: ``rate`` of arrivals (1/s), mean ``wait`` (s), mean ``occupancy``."""

    rate: float
    wait: float
    occupancy: float


def watch_queue(rate: float, service: float, requests: int, seed: int = 0, every: float = 5e-4) -> Queue:
    """Returns what three clocks see of a queue with one server: at the door, on the tickets, and from above.

    Requests come at random at ``rate`` per second; each is served for ``service`` seconds. The rate is
    counted at the door, the wait is read off each request, and the occupancy is looked at ``every``
    so many seconds by an observer who knows neither. ValueError where nothing would come or go. See the chapter
    *Measuring performance*.
    """
    if rate <= 0 or service < 0 or requests < 1:
        raise ValueError(f"a queue needs arrivals: got {requests} at {rate} per second, each served for {service} s")
    gaps = random.Random(seed)
    line: queue.SimpleQueue[float] = queue.SimpleQueue()
    came: list[float] = []
    waits: list[float] = []
    seen: list[int] = []
    done = threading.Event()

    def server() -> None:
        for _ in range(requests):
            arrived = line.get()
            time.sleep(service)
            waits.append(time.perf_counter() - arrived)

    def observer() -> None:
        while not done.wait(every):
            seen.append(len(came) - len(waits))

    threads = [threading.Thread(target=server), threading.Thread(target=observer)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for _ in range(requests):
        time.sleep(gaps.expovariate(rate))
        came.append(time.perf_counter())
        line.put(came[-1])
    threads[0].join()
    seconds = time.perf_counter() - start
    done.set()
    threads[1].join()
    return Queue(requests / seconds, sum(waits) / requests, sum(seen) / len(seen))
