"""The order in which memory is read: one word after the other, in strides, at random. What costs is the cache line.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dlperf.environment import environment
from dlperf.hardware import atomics, caches, minimum, pointer_chase
from dlperf.hardware.probe import probe
from dlperf.measurement import Measurement
from dlperf.turns import interleave


@njit(nogil=True)
def read(words, start, apart):
    """Reads every word that lies a multiple of ``apart`` after ``start``; all are unsigned."""
    for at in range(start, np.uint64(len(words)), apart):
        atomics.load(words, at)


@njit(nogil=True)
def read_backwards(words, apart):
    """Reads the last word, the one ``apart`` words before it, and so on to the first; ``apart`` is unsigned."""
    at = np.uint64(len(words))
    while at >= apart:
        at -= apart
        atomics.load(words, at)


@njit(nogil=True)
def read_at_random(words, bits, count, seed):
    """Reads ``count`` of the first ``2**bits`` words. No address needs the word that was read before it.

    Another ``seed`` reads other words.

    Source: the generator is Knuth's, The Art of Computer Programming, volume 2, 3.3.4.
    """
    x = np.uint64(seed)
    for _ in range(count):
        x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        atomics.load(words, x >> np.uint64(64 - bits))


def directions(words: NDArray[np.uint64], repeats: int = 5) -> dict[str, Measurement]:
    """Returns the seconds to read all words ``forward`` and ``backward``."""
    one = np.uint64(1)
    ways: dict[str, Callable[[], object]] = {
        "forward": lambda: read(words, np.uint64(0), one),
        "backward": lambda: read_backwards(words, one),
    }
    return minimum.single_calls(ways, repeats)


def strides(words: NDArray[np.uint64], apart: Sequence[int], repeats: int = 7) -> dict[int, Measurement]:
    """Returns the seconds per word read, by the bytes from one to the next; each pass reads elsewhere in a stride.

    Raises ValueError for a stride that is no whole number of words, or longer than all of them.
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


def at_random(words: NDArray[np.uint64], repeats: int = 7, count: int = 200_000) -> Measurement:
    """Returns the seconds per word read at random places that are known in advance; each pass reads other words.

    Raises ValueError unless the number of ``words`` is a power of two, and more than one: the places are random bits.
    """
    if len(words) < 2 or len(words) & (len(words) - 1):
        raise ValueError(f"so many words as a power of two from 2 on can be read at random places, not {len(words)}")
    bits = len(words).bit_length() - 1
    read_at_random(words, bits, 1, 0)
    taken = []
    for turn in range(repeats):
        start = time.perf_counter()
        read_at_random(words, bits, count, 2 * turn + 1)  # what the last pass read may be in a cache
        taken.append((time.perf_counter() - start) / count)
    return Measurement(tuple(taken), "s", "at random", count, environment("cpu"))


def predicted(stride: int, word: float) -> float:
    """Returns the predicted seconds per word: a line's whole time over the words that are used of it.

    ``word`` is the time per word when all are.
    """
    return word * min(stride, caches.line()) / 8


@probe("reading, one core", assumes="256 MiB on pages of the usual size are more than the caches hold")
def sequential() -> Measurement:
    """Returns the B/s at which one core reads 256 MiB from the first word to the last."""
    return strides(pointer_chase.memory(2**28), [8])[8].per_second(8, "B")


PROBES = (sequential,)
