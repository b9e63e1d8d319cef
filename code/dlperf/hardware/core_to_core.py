"""Two cores and the memory between them: a flag in a cache line, and messages that are copied in and out.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit, types

from dlperf.hardware import atomics
from dlperf.hardware.threads import at_once

call_memcpy: Any = types.ExternalFunction("memcpy", types.uintp(types.uintp, types.uintp, types.uintp))


@njit(nogil=True)
def push(flags: Any, shared: Any, mine: Any, first: int, last: int) -> None:
    """Copies a message into shared memory, raises a flag, and waits until the other flag says that it is there.

    The flag is the number of the message, from ``first`` to ``last``.
    """
    for i in range(first, last + 1):
        call_memcpy(shared.ctypes.data, mine.ctypes.data, mine.size)
        atomics.release(flags, 0, i)
        while atomics.acquire(flags, 16) != i:
            pass


@njit(nogil=True)
def take(flags: Any, shared: Any, mine: Any, first: int, last: int) -> None:
    """Waits for the flag, copies the message out of shared memory, and raises the other flag."""
    for i in range(first, last + 1):
        while atomics.acquire(flags, 0) != i:
            pass
        call_memcpy(mine.ctypes.data, shared.ctypes.data, mine.size)
        atomics.release(flags, 16, i)


def trips(size: int, rounds: int) -> float:
    """Returns the seconds of so many messages of ``size`` bytes from one core to another; needs two.

    The two ends are threads; two processes that map the same memory would do the same. Each flag has a cache line,
    and the next one, to itself. A first message does not count: to start the threads takes longer than many messages.
    """
    flags, shared = np.zeros(32, np.int64), np.ones(max(size, 1), np.uint8)
    mine, theirs = np.ones(size, np.uint8), np.ones(size, np.uint8)  # touched: they have their pages
    spent = 0.0

    def near() -> None:
        nonlocal spent
        push(flags, shared, mine, 1, 1)
        start = time.perf_counter()
        push(flags, shared, mine, 2, rounds + 1)
        spent = time.perf_counter() - start

    at_once([near, lambda: take(flags, shared, theirs, 1, rounds + 1)])
    return spent
