"""The pauses of a seed: moments at which every clock of every process leaps, by up to half a second."""

from __future__ import annotations

import importlib
import math
import os
import random
import sys
import time
import timeit
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

VARIABLE = "PAUSES"
"""The environment's name for a seed and the moment at which its pauses begin, such as ``7 1234.5``."""

A_SECOND = 30
"""How many pauses come in a second, on average."""

SHORTEST, LONGEST = 1e-6, 0.5
"""The seconds of a pause: each power of ten between them is as likely as another."""

LAST = 1800
"""The seconds after which there are no more."""

READ = ("perf_counter", "process_time", "thread_time")
"""The clocks of `time` that see them, each also in nanoseconds. `time.monotonic`, by which programs wait, does not."""


class Pauses:
    """The pauses of a seed from ``origin`` on, a reading of `time.perf_counter`, for as long as `LAST`.

    They are a function of these two alone: processes that compare their clocks see the same ones.
    """

    def __init__(self, seed: int, origin: float) -> None:
        choose = random.Random(seed)
        count = round(LAST * A_SECOND)
        self.moments = [origin, *accumulate((choose.expovariate(A_SECOND) for _ in range(count)), initial=origin)]
        ends = math.log(SHORTEST), math.log(LONGEST)
        self.lost = [0.0, *accumulate((math.exp(choose.uniform(*ends)) for _ in range(count)), initial=0.0)]

    def lost_until(self, moment: float) -> float:
        """Returns the seconds that they have taken until then."""
        return self.lost[max(bisect_right(self.moments, moment) - 1, 0)]


def variables(seed: int, given: dict[str, str]) -> dict[str, str]:
    """Returns the environment ``given``, of processes whose clocks now also see the pauses of a seed."""
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[1] / "site"), given.get("PYTHONPATH", ""))))
    return {**given, "PYTHONPATH": path, VARIABLE: f"{seed} {time.perf_counter()}"}


def activate() -> None:
    """Has the clocks of this process see the pauses that the environment names."""
    seed, origin = os.environ[VARIABLE].split()
    pauses, now = Pauses(int(seed), float(origin)), time.perf_counter

    def paused(read: Callable[[], float]) -> Callable[[], float]:
        return lambda: read() + pauses.lost_until(now())

    for name in READ:
        read = paused(getattr(time, name))
        setattr(time, name, read)
        setattr(time, f"{name}_ns", lambda read=read: round(1e9 * read()))
    timeit.default_timer = time.perf_counter
    if "simulated_cuda" in sys.modules:
        _pause_events(importlib.import_module("simulated_cuda.streams").EventBase, pauses)


def _pause_events(event: Any, pauses: Pauses) -> None:
    """Has the events of a simulated GPU see them: its clock is the system's."""
    elapsed = event.elapsed_time

    def elapsed_time(start: Any, end: Any) -> float:
        lost = pauses.lost_until(end.time) - pauses.lost_until(start.time)
        return elapsed(start, end) + 1e3 * lost

    event.elapsed_time = elapsed_time
