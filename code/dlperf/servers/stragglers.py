"""Training where no two steps take equally long: waiting for all, for the first, or for nobody too far behind.

Each is given the seconds that every worker computes in every step, an array of steps by workers, and returns when
each step is done. What the messages take is left to the simulation. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]


def for_all(compute: Times) -> Times:
    """Returns when each step is done, if it waits for the slowest worker: an all-reduce, or servers that wait."""
    return compute.max(axis=1).cumsum()


def for_first(compute: Times, needed: int) -> Times:
    """Returns when each step is done, if it waits for so many workers, and the others drop theirs to join the next.

    Raises ValueError where there are not so many. Source: Chen et al., Revisiting distributed synchronous SGD, 2016.
    """
    workers = compute.shape[1]
    if not 1 <= needed <= workers:
        raise ValueError(f"a step can wait for 1 to {workers} workers, got {needed}")
    return np.sort(compute, axis=1)[:, needed - 1].cumsum()


def within(compute: Times, staleness: int) -> Times:
    """Returns when each worker is done with each step, steps by workers, if none may be too far ahead.

    It begins a step when all others are done with the one ``staleness`` + 1 before it; with 0 all wait for all.
    Raises ValueError where the staleness is negative. Source: Ho et al., More effective distributed ML via a stale
    synchronous parallel parameter server, NeurIPS 2013.
    """
    if staleness < 0:
        raise ValueError(f"staleness is a number of steps, at least 0, got {staleness}")
    done = np.empty_like(compute)
    for step, seconds in enumerate(compute):
        begin = done[step - 1] if step else 0.0
        if step > staleness:
            slowest = done[step - staleness - 1].max()
            begin = np.maximum(begin, slowest)
        done[step] = begin + seconds
    return done


def expected(workers: int, needed: int) -> float:
    """Returns the mean seconds until so many of the workers are done, whose seconds are exponential of mean 1.

    The first takes 1/n of one's time, the second 1/(n - 1) more, and so on: without memory, those left begin afresh.
    Source: Rényi, On the theory of order statistics, 1953.
    """
    return sum(1 / (workers - done) for done in range(needed))
