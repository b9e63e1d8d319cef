"""Three laws and their experiments: Amdahl's and Gustafson's with pinned worker processes, Little's with a queue."""

from __future__ import annotations

import os
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

from dlperf.environment import environment, pinnable_cores
from dlperf.measurement import Measurement
from dlperf.turns import interleave, seconds
from dlperf.workers import Workers

Times = dict[int, Measurement]


def amdahl(serial: float, n: float) -> float:
    """Returns the speedup of ``n`` workers on fixed work whose share ``serial`` cannot be divided.

    ``n`` need not be whole: cores may be worth less than one. Raises ValueError if ``serial`` is not between 0 and 1,
    or ``n`` is not positive. Source: Amdahl, Validity of the single processor approach, 1967. See *Measuring
    performance*.
    """
    _check(serial, n)
    return 1 / (serial + (1 - serial) / n)


def gustafson(serial: float, n: float) -> float:
    """Returns the scaled speedup of ``n`` workers: each brings its own parallel share.

    ``serial`` is the serial share of the time of one worker. Raises ValueError if it is not between 0 and 1, or ``n``
    is not positive. Source: Gustafson, Reevaluating Amdahl's law, 1988.
    """
    _check(serial, n)
    return serial + (1 - serial) * n


def _check(serial: float, n: float) -> None:
    if not 0 <= serial <= 1 or n <= 0:
        raise ValueError(f"a share lies between 0 and 1, and workers are worth more than none; got {serial} and {n}")


def little(rate: float, wait: float) -> float:
    """Returns the mean number of requests in a system with ``rate`` arrivals per s that stay ``wait`` s each.

    Source: Little, A proof for the queuing formula L = λW, 1961.
    """
    return rate * wait


PINS = hasattr(os, "sched_setaffinity")
"""Whether this system can pin a process to a core: Linux can."""


def effective_workers(n: int, worth: Sequence[float], pinned: bool = PINS) -> float:
    """Returns how many undisturbed cores' speed ``n`` workers have on cores each of which is ``worth`` a part of one.

    If worker ``i`` is pinned to core ``i % len(worth)``, everybody waits for the core that finishes its share of ``n``
    equal parts last. A system that moves workers about can at best keep all cores busy. Raises
    ValueError if ``n`` is below 1, ``worth`` is empty, or a core is worth nothing.
    """
    if n < 1 or not worth or min(worth) <= 0:
        raise ValueError(f"there is one worker or more on one core or more; got {n} on {list(worth)}")
    if not pinned:
        return min(n, sum(worth))
    return n / max(len(range(core, n, len(worth))) / each for core, each in enumerate(worth[:n]))


def worker_counts(cores: int) -> list[int]:
    """Returns the numbers of workers to try: doubling up to the cores, one more, and twice as many."""
    return sorted({1, *(2**i for i in range(1, 10) if 2**i < cores), cores, cores + 1, 2 * cores})


def spin(amount: int) -> int:
    """Returns the last of ``amount`` steps of a random number generator: arithmetic that touches no memory."""
    x = 1
    for _ in range(amount):
        x = (1103515245 * x + 12345) & 0x7FFFFFFF
    return x


def pace(amount: int) -> float:
    """Returns how many steps of `spin` this process makes in a second, seen over ``amount`` of them."""
    start = time.perf_counter()
    spin(amount)
    return amount / (time.perf_counter() - start)


class Crew(Workers):
    """``size`` worker processes on ``cores`` cores, pinned to the first `places` in rotation; a context manager."""

    def __init__(self, size: int, cores: int) -> None:
        super().__init__(size, pinnable_cores()[:cores])
        self.seats = cores

    def __enter__(self) -> Self:
        super().__enter__()
        self.do([1] * self.world_size)  # now each has imported this module
        return self

    def do(self, amounts: Sequence[int]) -> None:
        """Has the first workers spin for ``amounts``, one each, and returns when all are done."""
        self.map(spin, amounts)

    def worths(self, busy: int, amount: int) -> list[float]:
        """Returns what each of the first ``busy`` cores is worth while all of them spin: 1 is the first one alone.

        It is clocked alone before and after.
        """
        before, together, after = (self.map(pace, [amount] * n) for n in (1, busy, 1))
        return [2 * each / (before[0] + after[0]) for each in together]


@dataclass(frozen=True)
class Scaling:
    """Times in seconds by number of workers, taken in turn with what the cores were worth: all may be paired.

    ``strong``: the parallel part is shared by all; ``weak``: each worker does as much as one alone. ``workers`` is how
    many undisturbed cores' speed so many workers had (`effective_workers`).
    """

    strong: Times
    weak: Times
    workers: Times


def scaling(crew: Crew, counts: Sequence[int], serial: int, parallel: int, repeats: int = 12) -> Scaling:
    """Returns strong and weak scaling: ``serial`` steps by one worker, then ``parallel`` steps.

    Before each it is asked what the cores are worth while as many of them work as then will.
    """

    def work(parts: Sequence[int]) -> Callable[[], float]:
        def both() -> None:
            crew.do([serial])
            crew.do(parts)

        return seconds(both)

    sides: dict[tuple[str, int], Callable[[], Any]] = {}
    for n in counts:  # what the cores are worth may change within a second
        sides["worth", n] = partial(crew.worths, min(n, crew.seats), parallel // crew.seats)
        sides["strong", n] = work([parallel // n] * n)
        sides["weak", n] = work([parallel] * n)
    taken, env = interleave(sides, repeats, warm_up=0), environment("cpu")
    told = {n: {**env, "threads": n, "device": f"CPU, {n} processes"} for n in counts}

    def times(kind: str) -> Times:
        return {n: taken[kind, n].measurement(float, "s", str(n), environment=told[n]) for n in counts}

    workers = {
        n: taken["worth", n].measurement(partial(effective_workers, n), "1", environment=told[n]) for n in counts
    }
    return Scaling(times("strong"), times("weak"), workers)


def by_turn(law: Callable[[float, float], float], serial: float, workers: Measurement) -> Measurement:
    """Returns what a ``law`` says turn by turn, of the ``workers`` that there were in each."""
    return replace(workers, samples=tuple(law(serial, n) for n in workers.samples))


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
        while True:  # at least once, however late its turn comes
            gone = len(waits)  # first: who comes in between has not gone yet
            seen.append(len(came) - gone)
            if done.wait(every):
                break

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
