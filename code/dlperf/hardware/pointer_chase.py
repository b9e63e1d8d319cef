"""Latency: how long a load takes whose address is the result of the load before it.

A walk along a random cycle through cache lines lets a processor neither guess the next line nor ask for two at
once. The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dlperf.environment import environment, memory_bytes
from dlperf.hardware import caches
from dlperf.hardware.probe import Unknown, probe
from dlperf.measurement import Measurement
from dlperf.turns import InterleavedSamples, new_pairing_id

LINE = 64
"""Bytes from one stop of the walk to the next: a cache line, or half of one on some processors."""

PAGES = {"base": mmap.PAGESIZE, "huge": 2 * 2**20}
"""Bytes of a page of this system, and of a huge one on x86 and most ARM systems."""


def memory(size: int, huge: bool = False) -> NDArray[np.uint64]:
    """Returns ``size`` bytes of fresh memory as 64-bit words, on base pages or, if ``huge``, on huge ones.

    Linux decides: it may refuse huge pages, and elsewhere there is no asking. Raises `Unknown` then.
    """
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        if huge:
            raise Unknown("this system takes no advice about huge pages (madvise); Linux does")
        return np.full(size // 8, 0, np.uint64)  # unlike zeros, it writes, so that every page is there
    mapped = mmap.mmap(-1, size + PAGES["huge"], flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        mapped.madvise(mmap.MADV_HUGEPAGE if huge else mmap.MADV_NOHUGEPAGE)
    except OSError as error:  # a kernel that was built without them
        if huge:
            raise Unknown(f"this system's kernel gives no huge pages to who asks: {error}") from None
    words = np.frombuffer(mapped, np.uint64)
    start = -words.ctypes.data % PAGES["huge"] // 8
    words = words[start : start + size // 8]
    words[:] = 0  # now the pages are there
    if huge and size >= PAGES["huge"] and not _huge_bytes(words.ctypes.data):
        raise Unknown("the system gave no huge pages: see /sys/kernel/mm/transparent_hugepage/enabled")
    return words


def _huge_bytes(address: int) -> int:
    """Returns how many bytes of the mapping that holds ``address`` lie on huge pages."""
    inside = False
    for line in Path("/proc/self/smaps").read_text(encoding="ascii", errors="replace").splitlines():
        first, _, rest = line.partition(" ")
        if "-" in first and not first.endswith(":"):
            low, high = (int(part, 16) for part in first.split("-"))
            inside = low <= address < high
        elif inside and first == "AnonHugePages:":
            return int(rest.split()[0]) * 1024
    return 0


KNUTH = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
"""A generator's factor and summand. Source: The Art of Computer Programming, volume 2, 3.3.4."""

HALF = np.uint64(32)
"""Of the generator's bits the upper half is the better one."""


@njit(nogil=True, cache=True)
def random_cycle(words, apart, seed):
    """Links each ``apart``-th word to another: all form one random cycle.

    Source: Sattolo, An algorithm to generate a random cyclic
    permutation, 1986.
    """
    stops, x = len(words) // apart, np.uint64(seed)
    for i in range(stops):
        words[i * apart] = i * apart
    for i in range(stops - 1, 0, -1):
        x = x * KNUTH[0] + KNUTH[1]
        j = np.int64((x >> HALF) * np.uint64(i) >> HALF)  # below i
        here, there = i * apart, j * apart
        words[here], words[there] = words[there], words[here]


@njit(nogil=True, cache=True)
def chase(words, at, steps):
    """Returns where a walk of ``steps`` ends that begins at ``at``."""
    for _ in range(steps):
        at = words[at]
    return at


def latencies(blocks: dict[str, NDArray[np.uint64]], apart: int = LINE, turns: int = 3) -> dict[str, Measurement]:
    """Returns the seconds per step of a random walk through each block, with a stop every ``apart`` bytes.

    The blocks take turns of five samples. Before each turn a walk goes round once, so that what fits into a cache is
    there; one that is too long for the caches, or for 64 MiB, goes 100,000 steps. Raises ValueError if blocks
    overlap, where a walk would leave its own, and if one has no place to stop at, or places between words.
    """
    if apart < 8 or apart % 8 or any(words.nbytes < apart for words in blocks.values()):
        sizes = [words.nbytes for words in blocks.values()]
        raise ValueError(f"stops lie whole words of 8 bytes apart, in blocks as large as that; got {apart} in {sizes}")
    if any(np.may_share_memory(a, b) for a, b in combinations(blocks.values(), 2)):
        raise ValueError(f"the blocks {', '.join(blocks)} overlap, and each walk needs memory of its own")
    at, shared = {name: np.uint64(0) for name in blocks}, new_pairing_id()
    samples = {name: InterleavedSamples[float](pairing_id=shared) for name in blocks}
    cached = min(max(caches.last(), 2**22), 2**26)
    for words in blocks.values():
        random_cycle(words, apart // 8, 0)
        chase(words, np.uint64(0), 1)  # compiled
    for _ in range(turns):
        for name, words in blocks.items():
            stops = 8 * len(words) // apart
            round_trip = max(stops, 1000) if words.nbytes <= cached else min(stops, 100_000)
            start = time.perf_counter()
            at[name] = np.uint64(chase(words, at[name], round_trip))
            steps = max(1000, int(5e-4 * round_trip / (time.perf_counter() - start)))  # half a millisecond
            for _ in range(5):
                start = time.perf_counter()
                at[name] = np.uint64(chase(words, at[name], steps))
                samples[name].append((time.perf_counter() - start) / steps)
    env = environment("cpu")
    return {name: taken.measurement(float, "s", name, steps, env) for name, taken in samples.items()}


def latency(words: NDArray[np.uint64], apart: int = LINE) -> Measurement:
    """Returns the seconds per step of a random walk through ``words``, as `latencies` does."""
    return latencies({"": words}, apart)[""]


def sizes(largest: int) -> list[int]:
    """Returns sizes from 4 KiB to ``largest`` bytes, all whole pages: two per octave up to 16 MiB, then one."""
    small = [int(4096 * 2 ** (i / 2)) // 1024 * 1024 for i in range(25)]
    return [size for size in [*small, *(2**i for i in range(25, 40))] if size <= largest]


def largest() -> int:
    """Returns the largest working set that a curve goes to, in bytes: 512 MiB, or an eighth of main memory."""
    return min(512 * 2**20, (memory_bytes() or 2**32) // 8)


def curves(at: Sequence[int]) -> dict[str, dict[int, Measurement]]:
    """Returns the latency by size in bytes, on ``base`` pages and, where the system has them, on ``huge`` ones."""
    pages = {"base": memory(max(at))}
    with suppress(Unknown):
        pages["huge"] = memory(max(at), huge=True)
    found: dict[str, dict[int, Measurement]] = {kind: {} for kind in pages}
    for size in at:
        for kind, m in latencies({kind: words[: size // 8] for kind, words in pages.items()}).items():
            found[kind][size] = m
    return found


def _small(size: int) -> NDArray[np.uint64]:
    """Returns memory on huge pages where the system has them, so that nothing but a cache decides."""
    with suppress(Unknown):
        return memory(max(size, PAGES["huge"]), huge=True)[: size // 8]
    return memory(size)


def _beyond(size: int) -> NDArray[np.uint64]:
    """Returns memory on base pages; raises `Unknown` where a core's last cache may hold half of it or more."""
    last = caches.last()
    if 2 * last > size:
        raise Unknown(f"a cache of {last >> 20} MiB holds half of {size >> 20} MiB or more")
    return memory(size)


@probe("latency of the L1 cache", assumes="half of the L1 cache that the system reports is ours")
def l1() -> Measurement:
    """Returns the latency of a working set that is half of the reported L1 cache."""
    return latency(_small(caches.level(1).size // 2))


@probe("latency of the L2 cache", assumes="half of the L2 cache that the system reports is ours")
def l2() -> Measurement:
    """Returns the latency of a working set that is half of the reported L2 cache."""
    return latency(_small(caches.level(2).size // 2))


@probe("latency of the L3 cache", assumes="twice an L2 cache fits into our share of the L3 cache")
def l3() -> Measurement:
    """Returns the latency of a working set twice as large as L2; raises `Unknown` if that is main memory's.

    Not of half the reported L3 cache: it is shared, and a virtual machine may get a small part of what it is told.
    """
    caches.level(3)  # there is one
    size = 2 * caches.level(2).size
    found, beyond = latency(_small(size)), latency(_small(64 * 2**20))
    if found.median > 0.6 * beyond.median:
        raise Unknown(
            f"{size >> 10} KiB take {found} a load and 64 MiB {beyond}: our share of the L3 cache is too small"
        )
    return found


@probe("latency of main memory, 64 MiB", assumes="64 MiB are more than the caches hold")
def dram() -> Measurement:
    """Returns the latency of 64 MiB on base pages; raises `Unknown` where a core's last cache may hold half of it."""
    return latency(_beyond(64 * 2**20))


@probe("latency of main memory, 256 MiB", assumes="256 MiB are more than the caches hold")
def dram_far() -> Measurement:
    """Returns the latency of 256 MiB on base pages; raises `Unknown` as `dram` does."""
    return latency(_beyond(256 * 2**20))


PROBES = (l1, l2, l3, dram, dram_far)
