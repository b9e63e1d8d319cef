"""A virtual clock: programs that assert times then see the same ones on any processor, however busy it is."""

from __future__ import annotations

import time
import timeit

from simulated_cuda.library import library

READ = 1e-8
"""Seconds that pass when the clock is read, so that a loop that waits for a moment ends."""


def use_virtual_clock() -> None:
    """Makes the simulated GPUs, `time.perf_counter` and `timeit.default_timer` of this process use one virtual clock.

    It moves only when the host waits for a GPU, launches a kernel (a microsecond) or reads it: a kernel that sleeps
    takes exactly its time, and nothing sleeps. Call it before the modules that are to use it are imported, and before
    anything was launched. The profiler keeps the system's clock.
    """
    library().sim_use_virtual_clock()

    def now() -> float:
        library().sim_advance(READ)
        return library().sim_now()

    time.perf_counter = timeit.default_timer = now
