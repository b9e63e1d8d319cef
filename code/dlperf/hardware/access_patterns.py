"""The order in which memory is read: one word after the other, or in strides. What costs is the cache line.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import count

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dlperf.environment import environment
from dlperf.hardware import atomics, pointer_chase
from dlperf.hardware.probe import probe
from dlperf.measurement import Measurement
from dlperf.turns import interleave


@njit(nogil=True)
def read(words, start, apart):
    """Reads every word that lies a multiple of ``apart`` after ``start``; all are unsigned."""
    for at in range(start, np.uint64(len(words)), apart):
        atomics.load(words, at)


def strides(words: NDArray[np.uint64], apart: Sequence[int], repeats: int = 7) -> dict[int, Measurement]:
    """Returns the seconds per word read, by the bytes from one to the next; each pass reads elsewhere in a stride.

    Raises ValueError if a stride is no whole number of words, or longer than all of them.
    """
    if odd := [stride for stride in apart if stride < 8 or stride % 8 or stride > words.nbytes]:
        raise ValueError(f"a stride is a multiple of 8 bytes, no longer than the {words.nbytes} there are; got {odd}")
    read(words[:8], np.uint64(0), np.uint64(1))  # compiled
    turns = {stride: count() for stride in apart}

    def side(stride: int) -> float:
        first = np.uint64(next(turns[stride]) * pointer_chase.LINE % stride // 8)
        start = time.perf_counter()
        read(words, first, np.uint64(stride // 8))
        return (time.perf_counter() - start) / (words.nbytes // stride)

    taken = interleave({stride: partial(side, stride) for stride in apart}, repeats, warm_up=0)
    env = environment("cpu")
    return {s: t.measurement(float, "s", f"stride {s} B", words.nbytes // s, env) for s, t in taken.items()}


@probe("reading, one core", assumes="256 MiB on pages of the usual size are more than the caches hold")
def sequential() -> Measurement:
    """Returns the B/s at which one core reads 256 MiB from the first word to the last."""
    return strides(pointer_chase.memory(2**28), [8])[8].per_second(8, "B")


PROBES = (sequential,)
