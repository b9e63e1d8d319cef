"""How much memory the values of arrays take, over time."""

from __future__ import annotations

import weakref
from collections import deque
from time import perf_counter
from typing import Any

import numpy as np
import torch


def memory_of(value: Any) -> Any:
    """Returns the object that lives as long as the memory of a tensor or NumPy array, shared by its views."""
    if isinstance(value, torch.Tensor):
        return value.untyped_storage()
    return memory_of(value.base) if isinstance(value.base, (torch.Tensor, np.ndarray)) else value


class LiveBytes:
    """Adds up the bytes of values, from `add` until nothing refers to their memory any more.

    Keeps about ``length`` moments: of a longer record the higher of each two, so that the peak stays.
    One thread at a time may call it; that memory is given back it may hear at any moment.
    """

    def __init__(self, length: int) -> None:
        self._length, self._totals = length, list[tuple[float, int]]()
        self._changes = deque[tuple[float, int]]()  # not yet in the totals

    def add(self, value: torch.Tensor | np.ndarray) -> None:
        """Counts ``value`` from now on."""
        size = value.untyped_storage().nbytes() if isinstance(value, torch.Tensor) else value.nbytes
        self._change(size)
        weakref.finalize(memory_of(value), self._change, -size).atexit = False
        if len(self._changes) > 1000:
            self.totals()

    def _change(self, size: int) -> None:  # the garbage collector calls it anywhere: it takes no lock
        self._changes.append((perf_counter(), size))

    def totals(self) -> list[tuple[float, int]]:
        """Returns the bytes after each change, with its `time.perf_counter` in seconds."""
        totals = self._totals
        while self._changes:
            moment, change = self._changes.popleft()
            totals.append((moment, change + (totals[-1][1] if totals else 0)))
        if len(totals) > self._length:
            older = totals[:-1]
            higher = [max(older[i : i + 2], key=lambda point: point[1]) for i in range(0, len(older), 2)]
            self._totals = [*higher, totals[-1]]
        return list(self._totals)
