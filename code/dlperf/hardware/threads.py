"""Several compiled loops at the same time, each on a core of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any

import numpy as np
from numba import njit, typeof, types
from numba.core.dispatcher import Dispatcher

from dlperf.environment import pinnable_cores
from dlperf.hardware import atomics

CLOCK: int = getattr(time, "CLOCK_MONOTONIC", 1)
_clock_gettime: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.uintp))


@njit(nogil=True)
def wait(gate: Any, count: int) -> None:
    """Arrives at the gate, and returns when ``count`` threads have: all within the time of a cache line's way."""
    atomics.add(gate, 0, 1)
    while atomics.acquire(gate, 0) < count:
        pass


@njit(nogil=True)
def gated(gate: Any, count: int, span: Any, loop: Any, arguments: Any) -> Any:
    """Returns what ``loop`` does, which it runs behind the gate between two looks at the clock."""
    wait(gate, count)
    _clock_gettime(CLOCK, span.ctypes.data)
    result = loop(*arguments)
    _clock_gettime(CLOCK, span.ctypes.data + 16)
    return result  # not to be left out, or the compiler leaves out the loop


def _behind(gate: Any, count: int, span: Any, loop: Callable[[], Any]) -> Callable[[], Any]:
    """Returns what runs ``loop`` behind the gate and writes its span: all of it compiled where the loop is."""
    if isinstance(loop, partial) and isinstance(loop.func, Dispatcher) and not loop.keywords:
        behind = gate, count, span, loop.func, loop.args
        gated.compile(tuple(typeof(part) for part in behind))
        return partial(gated, *behind)

    def called() -> None:
        wait(gate, count)
        span[:2] = divmod(time.clock_gettime_ns(CLOCK), 10**9)
        loop()
        span[2:] = divmod(time.clock_gettime_ns(CLOCK), 10**9)

    return called


def at_once(loops: Sequence[Callable[[], Any]]) -> float:
    """Returns the seconds from the first start to the last end of ``loops`` that run at the same time.

    Each runs in a thread of its own, pinned to a core of its own where the system can pin and has as many. The
    loops must release Python's lock (Numba's ``nogil``) and, unless they are `partial` calls of a compiled function,
    have been compiled. Such a call also starts and is timed without the lock, which many threads would queue for.
    """
    free, count = pinnable_cores(), len(loops)
    gate = np.zeros(16, np.int64)
    spans = np.zeros((count, 4), np.int64)
    errors: list[BaseException] = []
    behind = [_behind(gate, count, span, loop) for span, loop in zip(spans, loops, strict=True)]

    def run(i: int) -> None:
        if len(free) >= count:
            with suppress(OSError):
                os.sched_setaffinity(0, {free[i]})  # 0 is this thread
        try:
            behind[i]()
        except BaseException as error:
            errors.append(error)
            wait(gate, 0)  # nobody waits for it any more

    wait(np.zeros(16, np.int64), 0)  # compiled
    workers = [Thread(target=run, args=(i,)) for i in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    start, end = min(map(tuple, spans[:, :2].tolist())), max(map(tuple, spans[:, 2:].tolist()))
    return end[0] - start[0] + (end[1] - start[1]) / 1e9
