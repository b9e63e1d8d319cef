"""Caches: what the system reports of them, what a curve of latencies shows, and a model that counts hits and misses.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dlperf.environment import places
from dlperf.hardware import trusted
from dlperf.hardware.probe import Unknown


@dataclass(frozen=True)
class Cache:
    """A cache for data: its ``level``, its ``size`` and that of a ``line`` in bytes, and its ``ways`` (0: not told)."""

    level: int
    size: int
    line: int
    ways: int

    @property
    def sets(self) -> int:
        """The number of groups of lines; an address says in which one its line may lie."""
        return self.size // (self.line * self.ways)


def reported(root: Path = Path("/sys/devices/system/cpu")) -> list[Cache]:
    """Returns the data caches of a core as the system reports them, smallest first; raises `Unknown` if it is silent.

    Linux only copies what the processor says, and a virtual machine's processor says what its host wants.
    """
    if platform.system() == "Darwin":
        return _darwin(trusted.output(["sysctl", "hw"]))
    found = []
    for index in sorted(root.glob(f"cpu{(places() or [0])[0]}/cache/index*")):
        with suppress(OSError, ValueError):
            told = {name.name: name.read_text(encoding="ascii").strip() for name in index.iterdir() if name.is_file()}
            numbers = (told[name] for name in ("level", "coherency_line_size", "ways_of_associativity"))
            level, line, ways = map(int, numbers)
            if told["type"] != "Instruction":
                found.append(Cache(level, int(told["size"].removesuffix("K")) * 1024, line, ways))
    if not found:
        raise Unknown("this system reports no caches: there is nothing in /sys/devices/system/cpu/cpu0/cache")
    return sorted(found, key=lambda cache: cache.level)


def _darwin(text: str) -> list[Cache]:
    """Returns the caches in what macOS's ``sysctl hw`` prints: those of the fast cores where there are two kinds."""
    told = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    line = int(told.get("hw.cachelinesize", 64))
    names = {1: "l1dcachesize", 2: "l2cachesize", 3: "l3cachesize"}
    sizes = {n: told.get(f"hw.perflevel0.{name}", told.get(f"hw.{name}", "0")) for n, name in names.items()}
    return [Cache(level, int(size), line, 0) for level, size in sizes.items() if int(size)]


def level(number: int) -> Cache:
    """Returns the reported cache of this level; raises `Unknown` without one."""
    for cache in reported():
        if cache.level == number:
            return cache
    raise Unknown(f"this system reports no cache of level {number}")


def steps(sizes: Sequence[int], latencies: Sequence[float], rise: float = 1.1) -> list[float]:
    """Returns the sizes in bytes at which a curve of latencies steps up, by a rule fixed before it was looked at.

    A larger working set is never faster, so a point above a later one is noise and is lowered to it. A step is a run
    of points, each ``rise`` times the one before it or more, that doubles in all. It lies where the curve has doubled.
    """
    x = np.log2(sizes)
    y = np.log2(np.minimum.accumulate(latencies[::-1])[::-1])
    climbs = [*(np.diff(y) >= np.log2(rise)), False]
    found, foot = [], None
    for i, climbing in enumerate(climbs):
        if climbing and foot is None:
            foot = i
        elif not climbing and foot is not None:
            if y[i] >= y[foot] + 1:
                found.append(float(2 ** np.interp(y[foot] + 1, y[foot : i + 1], x[foot : i + 1])))
            foot = None
    return found


@njit(nogil=True, cache=True)
def count(addresses, writes, line, sets, ways):
    """Returns hits, misses and write-backs of a cache that evicts the least recently used line of a set."""
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


def addresses(rows: int, columns: int, order: str, padding: int = 0) -> NDArray[np.int64]:
    """Returns the addresses of float64 elements in the ``order`` ("row" or "column") in which a matrix is visited.

    Each row is followed by ``padding`` elements that belong to nobody.
    """
    grid = 8 * ((columns + padding) * np.arange(rows)[:, None] + np.arange(columns))
    return {"row": grid, "column": grid.T}[order].ravel()


@njit(nogil=True, cache=True)
def by_rows(x):
    """Adds 1 to every element, row after row."""
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            x[i, j] += 1


@njit(nogil=True, cache=True)
def by_columns(x):
    """Adds 1 to every element, column after column."""
    rows, columns = x.shape
    for j in range(columns):
        for i in range(rows):
            x[i, j] += 1
