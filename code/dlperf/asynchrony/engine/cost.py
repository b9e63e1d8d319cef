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
from dlperf.turns import interleave


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
        return seconds

    x, y, z = Variable(), Variable(), Variable()

    def engine() -> float:
        with Scheduler(["cpu"]) as scheduler:
            return clock(lambda fn: scheduler.enqueue(fn, [x, y], [z]))

    def executor() -> float:
        with ThreadPoolExecutor(1) as pool:
            return clock(pool.submit)

    taken, env = interleave({"engine": engine, "executor": executor}, repeats), environment()
    return {name: times.per_call(name, operations, env) for name, times in taken.items()}
