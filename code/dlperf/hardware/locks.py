"""Measure the cost of an uncontended atomic addition and of an uncontended mutex."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from dlperf.environment import environment
from dlperf.hardware import atomics
from dlperf.hardware.probe import Unknown, probe
from dlperf.hardware.threads import at_once
from dlperf.measurement import Measurement

MUTEX_BYTES = 128
"""Room for a mutex of any system: 40 bytes in Linux on x86-64, 64 in macOS."""


@njit(nogil=True)
def add_atomically(counter: np.ndarray, times: int) -> int:
    """Adds 1 to ``counter[0]`` so many times, each time in one step that no thread can come between."""
    for _ in range(times):
        atomics.add(counter, 0, 1)
    return counter[0]


@functools.cache
def _pthreads() -> tuple[Any, Any, Any]:
    try:
        library = ctypes.CDLL(None)
        calls = tuple(getattr(library, f"pthread_mutex_{name}") for name in ("init", "lock", "unlock"))
    except (AttributeError, OSError, TypeError) as error:
        raise Unknown(f"this system has no POSIX mutex: {error}") from None
    for call, arguments in zip(calls, (2, 1, 1), strict=True):
        call.argtypes, call.restype = [ctypes.c_void_p] * arguments, ctypes.c_int
    return calls


@functools.cache
def mutex_loop() -> Callable[[np.ndarray, int], int]:
    """Returns a compiled loop that locks and unlocks a mutex so many times and counts under it; see `mutex`.

    Raises `Unknown` where there are no POSIX threads.
    """
    _, lock, unlock = _pthreads()

    @njit(nogil=True)
    def loop(words: np.ndarray, times: int) -> int:
        for _ in range(times):
            lock(words.ctypes)
            words[-1] += 1
            unlock(words.ctypes)
        return words[-1]

    return loop


def mutex() -> np.ndarray:
    """Returns a mutex in an array, and after it a counter, as one cannot be without the other."""
    words = np.zeros(MUTEX_BYTES // 8 + 1, np.int64)
    _pthreads()[0](words.ctypes.data, None)
    return words


def _each(loop: Callable[[np.ndarray, int], int], words: np.ndarray, name: str) -> Measurement:
    times = 100_000
    run = lambda: loop(words, times)
    at_once([run])  # in a second thread: with only one, some mutexes spare themselves the trouble
    spans = [min(at_once([run]) for _ in range(3)) / times for _ in range(11)]
    return Measurement(tuple(spans), "s", name, environment=environment("cpu"))


@probe("mutex, lock and unlock", assumes="a POSIX mutex that no other thread wants; calls included")
def mutex_probe() -> Measurement:
    """Returns the seconds of locking and unlocking a mutex that is free."""
    return _each(mutex_loop(), mutex(), "mutex")


@probe("atomic addition", assumes="a counter in the first cache that no other thread touches")
def atomic_probe() -> Measurement:
    """Returns the seconds of one atomic addition."""
    return _each(add_atomically, np.zeros(1, np.int64), "atomic")


PROBES = (mutex_probe, atomic_probe)
