"""Several compiled loops at the same time, each on a core of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Barrier, Thread
from typing import Any

from dlperf.environment import places


def at_once(loops: Sequence[Callable[[], Any]]) -> float:
    """Returns the seconds from the first start to the last end of ``loops`` that run at the same time.

    Each runs in a thread of its own, pinned to a core of its own where the system can pin and has as many. The
    loops must release Python's lock (Numba's ``nogil``) and have been compiled: call each once before.
    """
    free = places()
    barrier = Barrier(len(loops))
    spans: list[tuple[float, float]] = []
    errors: list[BaseException] = []

    def run(i: int) -> None:
        if len(free) >= len(loops):
            with suppress(OSError):
                os.sched_setaffinity(0, {free[i]})  # 0 is this thread
        barrier.wait()
        start = time.perf_counter()
        try:
            loops[i]()
        except BaseException as error:
            errors.append(error)
        spans.append((start, time.perf_counter()))

    workers = [Thread(target=run, args=(i,)) for i in range(len(loops))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    return max(end for _, end in spans) - min(start for start, _ in spans)
