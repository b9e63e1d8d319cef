"""Compiled loops that read or write block after block of a file, by the system's ``pread`` and ``pwrite``.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from typing import Any

from numba import njit, types

_call = types.int64(types.int32, types.uintp, types.uintp, types.int64)
pread: Any = types.ExternalFunction("pread", _call)
pwrite: Any = types.ExternalFunction("pwrite", _call)
fsync: Any = types.ExternalFunction("fsync", types.int32(types.int32))


@njit(nogil=True, cache=True)
def read(file: int, block: Any, places: Any, done: Any, stop: Any) -> None:
    """Reads ``block`` at one place after another until ``stop``."""
    while not stop[0]:
        place = places[done[0] % len(places)]
        if pread(file, block.ctypes.data, block.size, place) != block.size:
            stop[0] = 2
        done[0] += 1


@njit(nogil=True, cache=True)
def write(file: int, block: Any, places: Any, done: Any, stop: Any) -> None:
    """Writes ``block`` to one of ``places`` after another until told to ``stop``; counts them in ``done``."""
    while not stop[0]:
        place = places[done[0] % len(places)]
        if pwrite(file, block.ctypes.data, block.size, place) != block.size:
            stop[0] = 2
        done[0] += 1


@njit(nogil=True, cache=True)
def write_through(file: int, block: Any, places: Any, done: Any, stop: Any) -> None:
    """Writes as `write` does, and after each block waits until the disk says that it has kept it."""
    while not stop[0]:
        place = places[done[0] % len(places)]
        if pwrite(file, block.ctypes.data, block.size, place) != block.size or fsync(file) != 0:
            stop[0] = 2
        done[0] += 1
