"""Two cores and the memory between them: a flag in a cache line, and messages that are copied in and out.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

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
def ping(flags: Any, shared: Any, mine: Any, rounds: int) -> None:
    """Copies a message into shared memory, raises a flag, and copies the answer out when the other flag is up."""
    for i in range(1, rounds + 1):
        _copy(shared.ctypes.data, mine.ctypes.data, mine.size)
        store(flags, 0, i)
        while load(flags, 16) != i:
            pass
        _copy(mine.ctypes.data, shared.ctypes.data, mine.size)


@njit(nogil=True, cache=True)
def pong(flags: Any, shared: Any, mine: Any, rounds: int) -> None:
    """Waits for the flag, copies the message out and in again, and raises the other flag."""
    for i in range(1, rounds + 1):
        while load(flags, 0) != i:
            pass
        _copy(mine.ctypes.data, shared.ctypes.data, mine.size)
        _copy(shared.ctypes.data, mine.ctypes.data, mine.size)
        store(flags, 16, i)
