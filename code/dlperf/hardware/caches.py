"""Caches: what the system reports of them, what a curve of latencies shows, and a model that counts hits and misses.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dlperf.environment import places
from dlperf.hardware import reference_tools
from dlperf.hardware.inventory import Cache, all_caches
from dlperf.hardware.probe import Unknown


def reported() -> list[Cache]:
    """Returns the data caches of a core as the system reports them, smallest first; raises `Unknown` if it is silent.

    Linux only copies what the processor says, and a virtual machine's processor says what its host wants.
    """
    mine = (places() or [0])[0]
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


class Order(StrEnum):
    """How a matrix is visited: row by row, or column by column."""

    ROW = "row"
    COLUMN = "column"


ORDERS = {
    "rows": (Order.ROW, 0, 1 / 8),
    "columns": (Order.COLUMN, 0, 1.0),
    "columns, padded": (Order.COLUMN, 8, 1 / 8),
}
"""Orders in which to visit a matrix: by row or column, elements of padding after each row, and predicted misses."""


def addresses(rows: int, columns: int, order: Order | str, padding: int = 0) -> NDArray[np.int64]:
    """Returns the addresses of float64 elements in the `Order` in which a matrix is visited; ValueError for another.

    Each row is followed by ``padding`` elements that belong to nobody.
    """
    grid = 8 * ((columns + padding) * np.arange(rows)[:, None] + np.arange(columns))
    return (grid if Order(order) is Order.ROW else grid.T).ravel()


_any_matrix = "void(float64[:, :])"  # one loop for all: left alone, Numba compiles another one for rows without padding


@njit(_any_matrix, nogil=True, cache=True)
def by_rows(x):
    """Adds 1 to every element, row after row."""
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            x[i, j] += 1


@njit(_any_matrix, nogil=True, cache=True)
def by_columns(x):
    """Adds 1 to every element, column after column."""
    rows, columns = x.shape
    for j in range(columns):
        for i in range(rows):
            x[i, j] += 1


def passes(n: int) -> dict[str, Callable[[], object]]:
    """Returns functions that add 1 to every element of an ``(n, n)`` matrix, in each of the ``ORDERS``."""
    loops = {Order.ROW: by_rows, Order.COLUMN: by_columns}
    grids = {name: np.zeros((n, n + padding))[:, :n] for name, (_, padding, _) in ORDERS.items()}
    return {name: partial(loops[order], grids[name]) for name, (order, _, _) in ORDERS.items()}


def shares(n: int, cache: Cache) -> dict[str, tuple[float, ...]]:
    """Returns hits, misses and write-backs per element of the same passes, as `count` says."""
    counts = {
        name: count(addresses(n, n, order, padding), True, cache.line, cache.sets, cache.ways)
        for name, (order, padding, _) in ORDERS.items()
    }
    return {name: tuple(part / n**2 for part in parts) for name, parts in counts.items()}


def counted(n: int) -> dict[str, float]:
    """Returns the L1 misses per element of the same passes, as the processor counts them; `Unknown` if it does not."""
    event = "L1-dcache-load-misses"
    return {name: reference_tools.counted(event, run) / n**2 for name, run in passes(n).items()}
