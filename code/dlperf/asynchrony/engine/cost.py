"""What it costs to enqueue: the engine against a pool of threads that tracks no dependencies."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from timeit import timeit
from typing import Any

from dlperf.asynchrony.engine.operations import Variable
from dlperf.asynchrony.engine.scheduler import Scheduler
from dlperf.environment import environment
from dlperf.measurement import Measurement


def nothing() -> None:
    """Returns at once: an operation that is all overhead."""


def enqueue_cost(repeats: int = 30, operations: int = 2000) -> dict[str, Measurement]:
    """Returns the seconds per empty operation until the call returns, taken alternately: ``engine`` and ``executor``.

    The engine's operation reads two variables and writes one. The executor is
    `concurrent.futures.ThreadPoolExecutor`, also with one thread. Nothing runs until the clock has stopped.
    """

    def clock(submit: Callable[[Callable[[], Any]], Any]) -> float:
        gate = Event()
        submit(gate.wait)
        seconds = timeit(lambda: submit(nothing), number=operations)  # without the garbage collector's pauses
        gate.set()
        return seconds / operations

    samples: dict[str, list[float]] = {"engine": [], "executor": []}
    x, y, z = Variable(), Variable(), Variable()
    for _ in range(1 + repeats):
        with Scheduler(["cpu"]) as scheduler:
            samples["engine"].append(clock(lambda fn: scheduler.enqueue(fn, [x, y], [z])))
        with ThreadPoolExecutor(1) as pool:
            samples["executor"].append(clock(pool.submit))
    env = environment()
    return {name: Measurement(tuple(times[1:]), "s", name, operations, env) for name, times in samples.items()}
