"""Two cores and the memory between them: a flag in a cache line, and messages that are copied in and out.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

from dlperf.hardware import atomics
from dlperf.hardware.threads import at_once

_copy: Any = types.ExternalFunction("memcpy", types.uintp(types.uintp, types.uintp, types.uintp))


@njit(nogil=True)
def push(flags: Any, shared: Any, mine: Any, rounds: int) -> None:
    """Copies a message into shared memory, raises a flag, and waits until the other flag says that it is there."""
    for i in range(1, rounds + 1):
        _copy(shared.ctypes.data, mine.ctypes.data, mine.size)
        atomics.release(flags, 0, i)
        while atomics.acquire(flags, 16) != i:
            pass


@njit(nogil=True)
def take(flags: Any, shared: Any, mine: Any, rounds: int) -> None:
    """Waits for the flag, copies the message out of shared memory, and raises the other flag."""
    for i in range(1, rounds + 1):
        while atomics.acquire(flags, 0) != i:
            pass
        _copy(mine.ctypes.data, shared.ctypes.data, mine.size)
        atomics.release(flags, 16, i)


def trips(size: int, rounds: int) -> float:
    """Returns the seconds of so many messages of ``size`` bytes from one core to another; needs two.

    The two ends are threads; two processes that map the same memory would do the same. Each flag has a cache line,
    and the next one, to itself.
    """
    flags, shared = np.zeros(32, np.int64), np.ones(max(size, 1), np.uint8)
    mine, theirs = np.ones(size, np.uint8), np.ones(size, np.uint8)  # touched: they have their pages
    return at_once([lambda: push(flags, shared, mine, rounds), lambda: take(flags, shared, theirs, rounds)])
