"""Time the enqueueing of an operation while the thread that will run it idles, computes, or competes for the GIL.

The chapter *Asynchronous computation* tells the story.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from dlperf.asynchrony.costs import Loop, clock, repeat
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import interleave

SPIN = """
import os, sys
if sys.argv[1:]:
    os.sched_setaffinity(0, map(int, sys.argv[1:]))
print(flush=True)
while True:
    pass
"""
"""A program that runs Python for ever, on the cores of which it is told, and says so when it begins."""


def enqueueing(engine: Any, n: int = 4000, repeats: int = 7) -> dict[str, Measurement]:
    """Returns the seconds of a call that enqueues an operation on one number, by what happens meanwhile, in turn.

    The back end is ``held`` at a gate; or it is ``computing``, in an operator that needs no lock of Python's; or it
    runs ``python``, which does. For ``process`` it is held while another process runs Python on its cores. Each is a
    mean over ``n`` calls.
    """
    call, _ = Loop(engine, 0, 1).calls()
    a = torch.randn(1500, 1500)
    product = torch.empty_like(a)
    own = cores_of(engine)
    works: dict[str, Callable[[threading.Event], object]] = {
        "held": threading.Event.wait,
        "computing": lambda stop: until(stop, lambda: torch.mm(a, a, out=product)),
        "python": lambda stop: until(stop, lambda: None),
    }
    sides: dict[str, Callable[[], float]] = {
        name: lambda work=work: beside(engine, work, call, n)  # type: ignore[misc]
        for name, work in works.items()
    }
    sides["process"] = lambda: beside_process(own, lambda: beside(engine, threading.Event.wait, call, n))
    taken, env = interleave(sides, repeats), environment()
    return {name: times.measurement(float, "s", "enqueue", environment=env) for name, times in taken.items()}


def cores_of(engine: Any) -> list[int]:
    """Returns the numbers of the cores that the engine's first device may use; none where the system does not tell."""
    found: list[int] = []
    if hasattr(os, "sched_getaffinity"):
        engine.enqueue(lambda: found.extend(os.sched_getaffinity(0)))
        engine.waitall()
    return found


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


def beside_process(cores: Iterable[int], call: Callable[[], float]) -> float:
    """Returns what ``call`` does while another process runs Python on these ``cores``."""
    command = [sys.executable, "-c", SPIN, *map(str, cores)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()  # type: ignore[union-attr]
            return call()
        finally:
            process.kill()


def until(stop: threading.Event, step: Callable[[], object]) -> None:
    """Repeats ``step`` until it is told to ``stop``."""
    while not stop.is_set():
        step()


@contextmanager
def switching(seconds: float) -> Iterator[None]:
    """Lets a thread that waits for Python's lock ask for it after so many ``seconds``, for a block."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
