"""Bandwidth: long arrays copied, written and combined by one core, and by all of them at the same time.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dlperf.environment import cache_bytes, cores, environment, memory_bytes
from dlperf.hardware import access_patterns, atomics, minimum, pointer_chase, threads
from dlperf.hardware.core_to_core import call_memcpy
from dlperf.hardware.probe import Unknown, probe
from dlperf.measurement import Measurement
from dlperf.turns import interleave

Array = NDArray[np.float64]


@njit(nogil=True, cache=True)
def triad(a, b, c, s):
    """Writes ``b + s * c`` to ``a``. Source: McCalpin, STREAM, 1995."""
    for i in range(len(a)):
        a[i] = b[i] + s * c[i]


@njit(nogil=True, cache=True)
def fill(a, value):
    """Writes ``value`` to every element: it only writes."""
    for i in range(len(a)):
        a[i] = value


@njit(nogil=True, cache=True)
def increase(a, value):
    """Adds ``value`` to every element: it reads what it writes."""
    for i in range(len(a)):
        a[i] += value


@njit(nogil=True)
def copy(a, b):
    """Copies ``b`` to ``a`` word by word, as a plain loop does; both are 64-bit and unsigned."""
    for i in range(np.uint64(len(a))):
        atomics.store(a, i, atomics.load(b, i))


@njit(nogil=True)
def memcpy(a, b):
    """Copies ``b`` to ``a`` by the system's ``memcpy``, which stores long arrays around the caches; both are 64-bit."""
    call_memcpy(a.ctypes.data, b.ctypes.data, 8 * len(a))
    return a[0]


def elements() -> int:
    """Returns how many float64 an array has that no cache holds: four times the last-level caches, as STREAM asks.

    That is 64 MiB to 512 MiB, and a thirty-second of main memory at most. Raises `Unknown` if three such arrays are
    not more than twice the caches.
    """
    most = min(2**29, (memory_bytes() or 2**33) // 32)
    size = min(max(2**26, 4 * cache_bytes()), most)
    if 3 * size <= 2 * cache_bytes():
        raise Unknown(f"the caches hold {cache_bytes() >> 20} MiB, and three arrays of {size >> 20} MiB are too short")
    return size // 8


def bandwidth(workers: int, repeats: int = 7) -> Measurement:
    """Returns the triad's B/s on so many cores at once: 24 bytes an element, as STREAM counts them.

    Each thread touches its share of the three arrays first, so that their pages lie in memory near its core.
    """
    share = elements() // workers
    kept: list[list[Array]] = [[] for _ in range(workers)]
    threads.at_once([partial(_touch, mine, share) for mine in kept])
    taken = [threads.at_once([partial(triad, mine[0], mine[1], mine[2], 3.0) for mine in kept]) for _ in range(repeats)]
    return Measurement(tuple(24 * share * workers / t for t in taken), "B/s", "triad", environment=environment("cpu"))


BYTES = {"read": 8, "copy": 16, "triad": 24}
"""The bytes of an element that each kernel must move: what it reads and what it writes, not what a store reads."""


def kernels(workers: Sequence[int], repeats: int = 7, tries: int = 3) -> dict[tuple[str, int], Measurement]:
    """Returns the B/s of each of the `BYTES` on so many cores at once, by kernel and cores; all taken in turn.

    The copy goes around the caches. A sample is the best of ``tries``, because others who use the memory only slow it
    down. Each thread touches its share of the arrays first.
    """
    here = environment("cpu")
    sides = {}
    for count in workers:
        share = elements() // count
        shares: list[list[Array]] = [[] for _ in range(count)]
        threads.at_once([partial(_touch, mine, share) for mine in shares])
        loops = {
            "read": [partial(access_patterns.read, mine[0].view("u8"), np.uint64(0), np.uint64(1)) for mine in shares],
            "copy": [partial(memcpy, mine[0], mine[1]) for mine in shares],
            "triad": [partial(triad, mine[0], mine[1], mine[2], 3.0) for mine in shares],
        }
        for name, each in loops.items():
            sides[name, count] = partial(_best, each, BYTES[name] * share * count, tries)
    taken = interleave(sides, repeats)
    return {key: rates.measurement(float, "B/s", key[0], 1, here) for key, rates in taken.items()}


def _touch(mine: list[Array], share: int) -> None:
    mine.extend(pointer_chase.memory(8 * share).view(np.float64) for _ in range(3))
    triad(mine[0], mine[1], mine[2], 3.0)


def _best(loops: Sequence[Callable[[], object]], amount: int, tries: int) -> float:
    return amount / min(threads.at_once(loops) for _ in range(tries))


def writing(repeats: int = 9) -> dict[str, Measurement]:
    """Returns the seconds to ``read`` an array, to ``write`` it, and to ``update`` it in place; taken in turn."""
    words = pointer_chase.memory(8 * elements())
    a = words.view(np.float64)
    ways: dict[str, Callable[[], object]] = {
        "read": lambda: access_patterns.read(words, np.uint64(0), np.uint64(1)),
        "write": lambda: fill(a, 1.5),
        "update": lambda: increase(a, 1.5),
    }
    return minimum.single_calls(ways, repeats)


def unadvised(size: int) -> NDArray[np.uint64]:
    """Returns ``size`` bytes of fresh memory on whatever pages the system gives to a program that does not ask."""
    words = np.frombuffer(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint64)
    words[:] = 1
    return words


@probe("memory bandwidth, one core", assumes="arrays of 64 to 512 MiB are more than the caches hold")
def one_core() -> Measurement:
    """Returns the triad's B/s on one core."""
    return bandwidth(1)


@probe("memory bandwidth, all cores", assumes="nobody else uses the memory")
def all_cores() -> Measurement:
    """Returns the triad's B/s on all cores at once; raises `Unknown` on one core, where it is `one_core`."""
    if cores() == 1:
        raise Unknown("this process may use one core only")
    return bandwidth(cores())


PROBES = (one_core, all_cores)
