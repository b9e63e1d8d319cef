"""False sharing: two cores that write to different words of one cache line take it from each other.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numba import njit

from dlperf.environment import cores, environment
from dlperf.hardware import atomics, pointer_chase, threads
from dlperf.hardware.probe import Unknown, probe
from dlperf.measurement import Measurement
from dlperf.turns import interleave

SIZE = 2**16
"""The bytes in which the counters stand."""


@njit(nogil=True)
def count(words, at, times):
    """Adds 1 to ``words[at]`` so often, each time in memory."""
    for _ in range(times):
        atomics.store(words, at, atomics.load(words, at) + np.uint64(1))


def increments(
    distances: Sequence[int], workers: int = 2, repeats: int = 15, times: int = 3_000_000
) -> dict[int, Measurement]:
    """Returns the seconds per increment when each core has a counter of its own, by the bytes between counters.

    The distances are taken in turn. Raises `Unknown` if there are fewer cores than ``workers``, ValueError if
    counters are no words of the 64 KiB in which they stand.
    """
    if workers < 1 or any(d < 8 or d % 8 or workers * d > SIZE for d in distances):
        raise ValueError(f"{workers} counters, whole words apart, in {SIZE} bytes: not at {list(distances)} bytes")
    if cores() < workers:
        raise Unknown(f"false sharing needs {workers} cores at the same time, and this process may use {cores()}")
    words = pointer_chase.memory(SIZE)
    count(words, np.uint64(0), 1)  # compiled

    def side(distance: int) -> float:
        places = [np.uint64(i * distance // 8) for i in range(workers)]
        return threads.at_once([partial(count, words, at, times) for at in places]) / times

    taken = interleave({d: partial(side, d) for d in distances}, repeats, warm_up=0)
    env = environment("cpu")
    return {d: samples.measurement(float, "s", f"{d} B apart", times, env) for d, samples in taken.items()}


@probe("false sharing", assumes="two of the cores are no two threads of one core")
def cost() -> Measurement:
    """Returns how often longer an increment takes 8 bytes from another core's counter than 256 bytes from it."""
    found = increments((8, 256))
    return found[8] / found[256]


PROBES = (cost,)
