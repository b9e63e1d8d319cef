"""What the same call costs, by what the thread that will run it does meanwhile.

The chapter *Asynchronous computation* tells the story.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import torch

from dlperf.asynchrony.costs import Loop, clock, repeat
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import interleave

LONG = 0.02
"""Seconds that a thread sleeps before it counts as one that has slept for long."""


def enqueueing(engine: Any, n: int = 10_000, repeats: int = 9) -> dict[str, Measurement]:
    """Returns the seconds of a call that enqueues an operation on one number, by what the back end does, in turn.

    It is ``held`` at a gate; is ``computing``, in an operator that needs no lock of Python's; runs ``python``, which
    does; fell ``asleep`` a moment ago; has slept for ``long``. The first three are means over ``n`` calls, the others
    medians of single ones.
    """
    call, x = Loop(engine, 0, 1).calls()
    a = torch.randn(1500, 1500)
    product = torch.empty_like(a)
    busy: dict[str, Callable[[threading.Event], object]] = {
        "held": threading.Event.wait,
        "computing": lambda stop: until(stop, lambda: torch.mm(a, a, out=product)),
        "python": lambda stop: until(stop, lambda: None),
    }

    def single(pause: float) -> float:
        engine.wait_to_read(x)
        spin(pause)
        return clock(call)

    sides: dict[str, Callable[[], float]] = {
        name: lambda work=work: beside(engine, work, call, n)  # type: ignore[misc]
        for name, work in busy.items()
    }
    sides["asleep"] = lambda: median(single(0) for _ in range(20))
    sides["long"] = lambda: median(single(LONG) for _ in range(10))
    taken, env = interleave(sides, repeats), environment()
    return {name: times.measurement(float, "s", "enqueue", environment=env) for name, times in taken.items()}


def beside(engine: Any, work: Callable[[threading.Event], object], call: Callable[[], object], n: int) -> float:
    """Returns the seconds of each of ``n`` calls that enqueue while the back end is at ``work`` until told to stop."""
    begun, stop = threading.Event(), threading.Event()

    def meanwhile() -> None:
        begun.set()
        work(stop)

    engine.enqueue(meanwhile)
    begun.wait()
    taken = clock(lambda: repeat(call, n))
    stop.set()
    engine.waitall()
    return taken / n


def until(stop: threading.Event, step: Callable[[], object]) -> None:
    """Repeats ``step`` until it is told to ``stop``."""
    while not stop.is_set():
        step()


def spin(seconds: float) -> None:
    """Keeps this thread awake and busy for so long."""
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass
