"""Storage: how many reads or writes of a size a disk does in a second, in order or at random, and so many at once.

The loops are those of `dlperf.hardware.blocks`. The page cache is passed by. Nothing is left behind. The
chapter *Hardware* tells the story.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from dlperf.environment import environment, pinnable_cores
from dlperf.hardware.blocks import read, write, write_through
from dlperf.hardware.disks import IN_MEMORY, disk
from dlperf.hardware.disks import folder as usual_folder
from dlperf.hardware.probe import Unknown, probe
from dlperf.measurement import Measurement

SIZE = 2**27
"""The bytes of the file that is read and written."""

MIN_OPERATIONS = 20
"""So many reads or writes are a sample, however long they take, up to `TIMEOUT_S`."""

TIMEOUT_S = 2.0
"""The seconds in which they should be done."""


@dataclass(frozen=True)
class Accesses:
    """What is asked of a file: a ``block`` of bytes at a time, by ``depth`` threads, each with one under way.

    ``loop`` reads or writes the blocks. They stand where a random generator says, or follow each other ``in_order``.
    """

    block: int
    depth: int = 1
    loop: Callable[..., None] = read
    in_order: bool = False

    def orders(self, count: int) -> list[Any]:
        """Returns for each thread the bytes at which the ``count`` blocks of a file begin, in the order of its calls.

        At random they are others each time: a disk may remember those of the last.
        """
        rng, numbers = np.random.default_rng(), np.arange(count)
        if self.in_order:
            return [self.block * np.roll(numbers, -i * count // self.depth) for i in range(self.depth)]
        return [self.block * rng.permutation(numbers) for _ in range(self.depth)]

    def buffers(self) -> list[Any]:
        """Returns for each thread memory that begins at a page, as direct access demands, full of random bytes."""
        whole = np.frombuffer(mmap.mmap(-1, self.depth * self.block), np.uint8)
        whole[:] = np.random.default_rng().integers(0, 256, len(whole), np.uint8)
        return np.split(whole, self.depth)


@contextmanager
def scratch(size: int = SIZE, folder: str | None = None) -> Iterator[Path]:
    """Yields the path of a file of ``size`` random bytes that are on the disk; it is removed whatever happens.

    By default it is in `disks.folder`. Raises `Unknown` where that is kept in memory or has less than four times the
    space.
    """
    folder = folder or usual_folder()
    if disk(folder).file_system in IN_MEMORY:
        raise Unknown(f"{folder} is kept in memory, not on a disk; set TMPDIR to a folder on a disk")
    if (free := shutil.disk_usage(folder).free) < 4 * size:
        raise Unknown(f"{folder} has {free >> 20} MiB free; the probe wants {4 * size >> 20} MiB")
    handle, name = tempfile.mkstemp(prefix="dlperf-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            piece = np.random.default_rng(0).bytes(2**22)  # a disk may compress zeros
            for _ in range(size // len(piece)):
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        os.unlink(name)


@contextmanager
def opened(path: Path, cached: bool = False) -> Iterator[int]:
    """Yields a descriptor of a file that is read past the page cache, or is all in it.

    Raises `Unknown` where the system or the file system cannot pass it by. macOS cannot: with F_NOCACHE it still reads
    what is cached, and its fsync returns before the disk has kept anything.
    """
    if not hasattr(os, "O_DIRECT"):
        raise Unknown("this system cannot read past the page cache: it has no O_DIRECT")
    try:
        file = os.open(path, os.O_RDWR | (0 if cached else os.O_DIRECT))
    except OSError as error:
        raise Unknown(f"the file system of {path.parent} does not pass by the page cache: {error}") from None
    try:
        while cached and os.read(file, 2**22):
            pass
        yield file
    finally:
        os.close(file)


def rate(path: Path, asked: Accesses, *, cached: bool = False, seconds: float = 0.1, samples: int = 5) -> Measurement:
    """Returns how many `Accesses` a second a file answers, with one of each thread under way at any moment.

    A sample is what is counted, from the end of one to the end of another, in ``seconds`` or more while all threads
    are at work (`finished`). Raises `Unknown` where a call fails, or none ends for `TIMEOUT_S`.
    """
    done, stop = np.zeros((asked.depth, 8), np.int64), np.zeros(1, np.int64)
    rates: list[float] = []
    with opened(path, cached) as file:
        each_thread = zip(asked.buffers(), asked.orders(path.stat().st_size // asked.block), done, strict=True)
        workers = [Thread(target=asked.loop, args=(file, *theirs, stop)) for theirs in each_thread]
        for worker in workers:
            worker.start()
        try:
            while stop[0] == 0 and not done[:, 0].all() and all(worker.is_alive() for worker in workers):
                time.sleep(0.001)  # until all are compiled, started, and once around
            for _ in range(samples):
                rates.append(finished(done[:, 0], stop, seconds))
        finally:
            failed = stop[0] == 2 or not done[:, 0].all()
            stop[0] = max(stop[0], 1)
            for worker in workers:
                worker.join()
    name = asked.loop.__name__
    if failed or 0.0 in rates:
        raise Unknown(f"{name} of {asked.block} bytes failed, came up short or took for ever in {path.parent}")
    return Measurement(tuple(rates), "1/s", f"{name} {asked.block} B", 1, environment("cpu"))


def finished(done: Any, stop: Any, seconds: float) -> float:
    """Returns how many are ``done`` a second, counted from an end to an end so that slow disks come out right.

    Counts for at least so many ``seconds`` and until `MIN_OPERATIONS` are done, but not for longer than `TIMEOUT_S`;
    0 where none ends. Whoever takes the core away between the clock and the count
    makes the disk slower, never faster: the first clock is read before its count, the last one after.
    """

    def next_end(seen: int) -> tuple[float, int, float]:
        until = time.perf_counter() + TIMEOUT_S
        while True:
            early, count, late = time.perf_counter(), int(done.sum()), time.perf_counter()
            if count != seen or stop[0] or late >= until:
                return early, count, late
            time.sleep(min(0.0005, seconds / 20))

    start, before, _ = next_end(int(done.sum()))
    _, count, end = next_end(before)
    while end - start < TIMEOUT_S and not stop[0]:
        if end - start >= seconds and count - before >= MIN_OPERATIONS:
            break
        _, more, later = next_end(count)
        if more == count:
            break
        end, count = later, more
    return (count - before) / (end - start)


@contextmanager
def one_core() -> Iterator[None]:
    """Keeps this thread, the threads it starts and the commands it runs on one core, where the system can pin.

    Which core asks, and which is interrupted by the disk, can matter more than who asks.
    """
    free = pinnable_cores()
    if free:
        os.sched_setaffinity(0, free[-1:])
    try:
        yield
    finally:
        if free:
            os.sched_setaffinity(0, free)


def each(rates: Measurement) -> Measurement:
    """Returns the seconds of one read or write, of a rate with one under way; what took turns may still be paired."""
    return replace(rates, samples=tuple(1 / r for r in rates.samples), unit="s")


@probe("read 4 KiB at random", "the page cache is passed by; a virtual disk's host may still answer from its own")
def read_at_random() -> Measurement:
    with scratch(SIZE // 2) as path:
        return each(rate(path, Accesses(2**12)))


@probe("write 4 KiB at random", "the page cache is passed by; the disk may still hold it in a memory of its own")
def write_at_random() -> Measurement:
    with scratch(SIZE // 2) as path:
        return each(rate(path, Accesses(2**12, loop=write)))


@probe("write 4 KiB and keep it", "as before, and the disk says that each one will survive a power failure (fsync)")
def write_and_keep() -> Measurement:
    with scratch(SIZE // 2) as path:
        return each(rate(path, Accesses(2**12, loop=write_through)))


@probe("read 1 MiB in order", "the page cache is passed by; a virtual disk's host may still answer from its own")
def read_in_order() -> Measurement:
    with scratch(SIZE // 2) as path:
        return each(rate(path, Accesses(2**20, in_order=True), seconds=0.2))


@probe("reads of 4 KiB, 32 at once", "32 threads that wait for one each; a disk may take more from a better queue")
def read_many() -> Measurement:
    with scratch(SIZE // 2) as path:
        return rate(path, Accesses(2**12, 32))


PROBES = (read_at_random, write_at_random, write_and_keep, read_in_order, read_many)
