"""Two cores and the memory between them: a flag in a cache line, and messages that are copied in and out.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from dlperf.hardware.threads import at_once

_copy: Any = types.ExternalFunction("memcpy", types.uintp(types.uintp, types.uintp, types.uintp))


def _load(context: Any, array: Any, index: Any) -> Any:
    """Returns ``array[index]`` as it is in memory now, with all that was stored before it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_element(context, builder, signature, arguments), "acquire", 8)

    return types.int64(array, index), code


def _store(context: Any, array: Any, index: Any, value: Any) -> Any:
    """Writes ``array[index]`` so that who loads it sees all that was stored before."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[2], _element(context, builder, signature, arguments), "release", 8)
        return context.get_dummy_value()

    return types.void(array, index, types.int64), code


def _element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    return cgutils.get_item_pointer(context, builder, kind, array, [arguments[1]], wraparound=False)


load: Any = intrinsic(_load)
store: Any = intrinsic(_store)


@njit(nogil=True, cache=True)
def push(flags: Any, shared: Any, mine: Any, rounds: int) -> None:
    """Copies a message into shared memory, raises a flag, and waits until the other flag says that it is there."""
    for i in range(1, rounds + 1):
        _copy(shared.ctypes.data, mine.ctypes.data, mine.size)
        store(flags, 0, i)
        while load(flags, 16) != i:
            pass


@njit(nogil=True, cache=True)
def take(flags: Any, shared: Any, mine: Any, rounds: int) -> None:
    """Waits for the flag, copies the message out of shared memory, and raises the other flag."""
    for i in range(1, rounds + 1):
        while load(flags, 0) != i:
            pass
        _copy(mine.ctypes.data, shared.ctypes.data, mine.size)
        store(flags, 16, i)


def trips(size: int, rounds: int) -> float:
    """Returns the seconds of so many messages of ``size`` bytes from one core to another; needs two.

    The two ends are threads; two processes that map the same memory would do the same. Each flag has a cache line,
    and the next one, to itself.
    """
    flags, shared = np.zeros(32, np.int64), np.ones(max(size, 1), np.uint8)
    mine, theirs = np.ones(size, np.uint8), np.ones(size, np.uint8)  # touched: they have their pages
    return at_once([lambda: push(flags, shared, mine, rounds), lambda: take(flags, shared, theirs, rounds)])
