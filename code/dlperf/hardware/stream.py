"""Bandwidth: long arrays copied, written and combined by one core, and by all of them at the same time.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dlperf.environment import cache_bytes, cores, environment, memory_bytes
from dlperf.hardware import pointer_chase, threads
from dlperf.hardware.probe import Unknown, probe
from dlperf.measurement import Measurement

Array = NDArray[np.float64]


@njit(nogil=True, cache=True)
def triad(a, b, c, s):
    """Writes ``b + s * c`` to ``a``. Source: McCalpin, STREAM, 1995."""
    for i in range(len(a)):
        a[i] = b[i] + s * c[i]


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


def _touch(mine: list[Array], share: int) -> None:
    mine.extend(pointer_chase.memory(8 * share).view(np.float64) for _ in range(3))
    triad(mine[0], mine[1], mine[2], 3.0)


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
