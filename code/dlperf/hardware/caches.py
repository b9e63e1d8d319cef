"""Caches: what the system reports of them, what a curve of latencies shows, and a model that counts hits and misses.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numba import njit

from dlperf.environment import pinnable_cores
from dlperf.hardware.inventory import Cache, all_caches
from dlperf.hardware.probe import Unknown


def reported() -> list[Cache]:
    """Returns the data caches of a core as the system reports them, smallest first; raises `Unknown` if it is silent.

    Linux only copies what the processor says, and a virtual machine's processor says what its host wants.
    """
    mine = (pinnable_cores() or [0])[0]
    found = [c for c in all_caches() if c.kind != "Instruction" and mine in (c.cores or (mine,))]
    if not found:
        raise Unknown("this system reports no caches: there is nothing in /sys/devices/system/cpu/cpu0/cache")
    return sorted(found, key=lambda cache: cache.level)


def level(number: int) -> Cache:
    """Returns the reported cache of this level; raises `Unknown` without one."""
    for cache in reported():
        if cache.level == number:
            return cache
    raise Unknown(f"this system reports no cache of level {number}")


def last() -> int:
    """Returns the bytes of the largest cache that the system reports of a core, or 0 where it is silent."""
    with suppress(Unknown):
        return max(cache.size for cache in reported())
    return 0


def line() -> int:
    """Returns the bytes of a cache line as the system reports them, or 64, the most common, if it is silent."""
    with suppress(Unknown):
        return level(1).line or 64
    return 64


@njit(nogil=True, cache=True)
def count(addresses, writes, line, sets, ways):
    """Returns hits, misses, write-backs; evicts what is longest unused."""
    held = np.full((sets, ways), -1)  # which line lies where
    used = np.full((sets, ways), -1)  # when it was last asked for
    dirty = np.zeros((sets, ways), np.bool_)  # whether it was written to
    hits = misses = backs = 0
    for now in range(len(addresses)):
        wanted = addresses[now] // line
        s = wanted % sets
        way = -1
        for w in range(ways):
            if held[s, w] == wanted:
                way = w
        if way >= 0:
            hits += 1
        else:
            misses += 1
            way = used[s].argmin()
            backs += dirty[s, way]
            held[s, way] = wanted
            dirty[s, way] = False
        used[s, way] = now
        dirty[s, way] |= writes
    return hits, misses, backs
