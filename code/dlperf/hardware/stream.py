"""Bandwidth: long arrays copied, written and combined by one core, and by all of them at the same time.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from functools import partial

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dlperf.environment import cache_bytes, cores, environment, memory_bytes
from dlperf.hardware import access_patterns, atomics, minimum, pointer_chase, reference_tools, threads
from dlperf.hardware.probe import Unknown, probe
from dlperf.hardware.storage import one_core as on_one_core
from dlperf.measurement import Measurement
from dlperf.turns import columns

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

    def touch(mine: list[Array]) -> None:
        mine.extend(pointer_chase.memory(8 * share).view(np.float64) for _ in range(3))
        triad(mine[0], mine[1], mine[2], 3.0)

    threads.at_once([partial(touch, mine) for mine in kept])
    taken = [threads.at_once([partial(triad, mine[0], mine[1], mine[2], 3.0) for mine in kept]) for _ in range(repeats)]
    return Measurement(tuple(24 * share * workers / t for t in taken), "B/s", "triad", environment=environment("cpu"))


def scaling() -> dict[int, Measurement]:
    """Returns the triad's bandwidth on 1, 2, 4, … cores, and on all of them."""
    powers = (2**i for i in range(20))
    return {n: bandwidth(n) for n in [*(n for n in powers if n < cores()), cores()]}


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


def against_mbw(mebibytes: int = 64, rounds: int = 12) -> dict[str, Measurement]:
    """Returns the bytes copied per second by our ``loop`` and NumPy's ``memcpy``, over what mbw says of its own.

    Both copy as many bytes on the same core, in memory that came unasked, and count each byte once. Every other time
    mbw goes first. Each turn's best of seven stands, because others who use the memory only slow it down. Raises
    `Unknown` without mbw.
    """
    a, b = (unadvised(mebibytes * 2**20) for _ in range(2))
    ways: dict[str, Callable[[], object]] = {"loop": lambda: copy(a, b), "memcpy": lambda: np.copyto(a, b)}
    rows = []
    theirs: dict[str, list[float]] = {}
    for turn in range(rounds):
        with on_one_core():
            theirs = theirs if turn % 2 else reference_tools.mbw(mebibytes, runs=7)
            ours = minimum.single_calls(ways, 7)
            theirs = reference_tools.mbw(mebibytes, runs=7) if turn % 2 else theirs
        rows.append({name: a.nbytes / min(m.samples) / max(theirs[name]) for name, m in ours.items()})
    return columns(rows, dict.fromkeys(ways, "1"), environment("cpu"))


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
