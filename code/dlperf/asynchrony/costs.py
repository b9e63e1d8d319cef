"""The cost of calls that return before their work is done: measured in parts, predicted, held against the whole.

Every function takes the engine that it measures. The chapter *Asynchronous computation* tells the story.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import torch

from dlperf.environment import environment, pinnable_cores
from dlperf.measurement import Measurement
from dlperf.timing import measure
from dlperf.turns import columns, interleave

Call = Callable[[], Any]


@dataclass(frozen=True)
class Costs:
    """Seconds to ``enqueue`` a call, ``execute`` it, and ``hear`` of it."""

    enqueue: float
    execute: float
    hear: float

    def synchronous(self, n: int) -> float:
        """Returns the predicted seconds of ``n`` calls, each waited for."""
        return n * (self.enqueue + self.execute + self.hear)

    def asynchronous(self, n: int) -> float:
        """Returns it with one wait at the end: the slower side rules."""
        fast, slow = sorted((self.enqueue, self.execute))
        return fast + n * slow + self.hear

    def serial(self, n: int) -> float:
        """Returns the same if front end and back end never overlap."""
        return n * (self.enqueue + self.execute) + self.hear


@dataclass(frozen=True)
class Loop:
    """A loop that computes the sines of ``front`` numbers itself and enqueues those of ``back`` on a ``device``."""

    engine: Any
    front: int
    back: int
    device: str = "cpu"

    def sides(self) -> tuple[Call, Call, Any]:
        """Returns what the front end computes itself, what it then enqueues, and the array that this updates."""
        x = self.engine.array(torch.ones(self.back), self.device)
        y = torch.ones(self.front)
        own = (lambda: torch.sin(y, out=y)) if self.front else (lambda: None)
        return own, lambda: self.engine.update(sine, x), x

    def calls(self) -> tuple[Call, Any]:
        """Returns one iteration, which ends with enqueueing, and the array that it updates."""
        own, hand_over, x = self.sides()
        return lambda: (own(), hand_over()), x

    def behind_a_gate(self, n: int) -> tuple[float, float]:
        """Returns seconds per call: to enqueue ``n``, then to run them."""
        call, _ = self.calls()
        gate = threading.Event()
        self.engine.enqueue(gate.wait, device=self.device)
        enqueue = clock(lambda: repeat(call, n))
        gate.set()
        return enqueue / n, clock(self.engine.waitall) / n

    def synchronous(self, n: int) -> float:
        """Returns the seconds of ``n`` iterations, each waited for."""
        call, x = self.calls()
        start = perf_counter()
        for _ in range(n):
            call()
            self.engine.wait_to_read(x)
        return perf_counter() - start

    def asynchronous(self, n: int) -> float:
        """Returns the seconds of ``n`` iterations with one wait at the end."""
        call, _ = self.calls()
        start = perf_counter()
        repeat(call, n)
        self.engine.waitall()
        return perf_counter() - start


def sine(x: torch.Tensor) -> torch.Tensor:
    """Changes ``x`` into its sine: one operator of any length, during which Python's lock is free."""
    return torch.sin(x, out=x)


def repeat(call: Call, n: int) -> None:
    """Calls ``call`` ``n`` times."""
    for _ in range(n):
        call()


def clock(call: Call) -> float:
    """Returns the seconds that ``call`` takes until it returns."""
    start = perf_counter()
    call()
    return perf_counter() - start


def parts(loop: Loop, n: int = 500, repeats: int = 5) -> dict[str, Measurement]:
    """Returns ``enqueue``, ``execute`` and ``hear`` in seconds per call, each measured by itself.

    The third is what an operation on one number costs when it is waited for, beyond enqueueing and executing it.
    """
    empty = Loop(loop.engine, loop.front, 1, loop.device)
    rows = []
    for _ in range(repeats):
        enqueue, execute = loop.behind_a_gate(n)
        hear = empty.synchronous(n) / n - sum(empty.behind_a_gate(n))
        rows.append({"enqueue": enqueue, "execute": execute, "hear": hear})
    return columns(rows, dict.fromkeys(rows[0], "s"), environment(), n)


def medians(measured: dict[str, Measurement]) -> Costs:
    """Returns the model whose three numbers are the medians that `parts` measured."""
    return Costs(*(measured[k].median for k in ("enqueue", "execute", "hear")))


def hold_against(loops: dict[str, Loop], n: int, repeats: int) -> dict[str, dict[str, Measurement]]:
    """Returns, for each loop, its parts and totals in seconds per call, and predicted over measured totals.

    Keys are those of `parts`, then ``asynchronous`` (of ``n`` calls), ``synchronous`` (of a fifth as many), and the
    ratios ``asynchronous fit``, ``serial fit`` and ``synchronous fit``. Each trial predicts from its own parts, then
    measures.
    """
    trials = interleave({name: partial(_trial, loop, n) for name, loop in loops.items()}, repeats, warm_up=0)
    env = environment()
    return {name: columns(rows, _UNITS, env) for name, rows in trials.items()}


_UNITS = dict.fromkeys(("enqueue", "execute", "hear", "asynchronous", "synchronous"), "s")
_UNITS |= dict.fromkeys(("asynchronous fit", "serial fit", "synchronous fit"), "1")


def _trial(loop: Loop, n: int) -> dict[str, float]:
    """Returns one trial of `hold_against`."""
    row = {k: m.median for k, m in parts(loop, min(500, n // 4), repeats=1).items()}
    model = Costs(**row)
    predicted = {"asynchronous fit": model.asynchronous(n), "serial fit": model.serial(n)}
    late, each = loop.asynchronous(n), loop.synchronous(n // 5)
    row |= {"asynchronous": late / n, "synchronous": each / (n // 5)}
    row |= {name: seconds / late for name, seconds in predicted.items()}
    return row | {"synchronous fit": model.synchronous(n // 5) / each}


def length(seconds: float, device: str = "cpu") -> int:
    """Returns how many numbers have sines that take one thread about ``seconds`` on ``device``.

    Few take no longer than one on a GPU, so their number grows until the time is long enough to divide.
    """
    n, taken = 2**10, 0.0
    while taken < seconds:
        n *= 4
        x = torch.ones(n, device=device)
        taken = measure(partial(sine, x), repeats=5, num_threads=1).median
    return max(1, int(n * seconds / taken))


@contextmanager
def undisturbed(engine: Any) -> Iterator[None]:
    """Gives the front end and each of the engine's devices one thread for a block, and a core each if there are enough.

    A thread has its own count of helpers, hence the operations that set it. Python's garbage collector
    rests: it would look through all that waits in the queue. The engine's threads keep their cores.
    """
    environment()  # reads how many cores there are before they are handed out
    threads, free = torch.get_num_threads(), pinnable_cores()
    spare = len(free) - len(engine.devices)
    first = 1 if spare > 0 else 0  # the front end's core, if there is one for it
    for i, device in enumerate(engine.devices, first):
        own = free[i : i + 1] if spare >= 0 else []
        engine.enqueue(lambda own=own: one_thread(own), device=device, name="one_thread")
    engine.waitall()
    one_thread(free[:first])
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if free:
            os.sched_setaffinity(0, free)
        torch.set_num_threads(threads)


def one_thread(cores: Sequence[int] = ()) -> None:
    """Keeps the calling thread's operators to itself, and the thread to these ``cores``, if there are any."""
    torch.set_num_threads(1)
    if cores:
        os.sched_setaffinity(0, cores)
