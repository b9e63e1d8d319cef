"""Every clock that the book reads sees the pauses of a seed, in every process alike: a planted bug shows it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

import pytest

from tests.conftest import ROOT
from tests.pauses import clock
from tests.pauses.clock import Pauses

SEED, WAIT, LOST = 54, 1.0, 0.15
"""A seed, of whose pauses each window of so many seconds loses at least so many."""

PLANTED = """
import math, time, timeit
read, system = {clock}, lambda: time.clock_gettime(time.{system})
before, start, later = system(), read(), system()
time.sleep({wait})
earlier, end, after = system(), read(), system()
math.sqrt({elapsed} + {lost} - (end - start) * {unit})  # it takes for granted that nobody else had the core
"""

SYSTEMS = {
    "process_time": "CLOCK_PROCESS_CPUTIME_ID",
    "thread_time": "CLOCK_THREAD_CPUTIME_ID",
}
CLOCKS = [
    *((f"time.{name}", 1.0) for name in clock.READ),
    *((f"time.{name}_ns", 1e-9) for name in clock.READ),
    ("timeit.default_timer", 1.0),
    ("__import__('dlperf.timing').timing.clock('cpu')", 1.0),
]


def program(body: str, pauses: bool = True) -> str:
    """Returns the error output of a program in a process whose clocks see the pauses."""
    given = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "code"), str(ROOT)))}
    given = clock.variables(SEED, given) if pauses else given
    return subprocess.run([sys.executable, "-c", body], env=given, capture_output=True, text=True).stderr


def test_the_seed_has_pauses_whenever_one_looks() -> None:
    pauses = Pauses(SEED, 0.0)
    after_a_pause = [start for start in pauses.moments if start < 120]  # what begins there loses least
    assert min(pauses.lost_until(start + WAIT) - pauses.lost_until(start) for start in after_a_pause) > LOST


@pytest.mark.parametrize(("read", "unit"), CLOCKS)
def test_a_clock_sees_them(read: str, unit: float) -> None:
    """The bug shows with pauses and never without: no clock but one that sees them runs ahead of the system's.

    Real pauses between the readings of both clocks change neither: with those of the seed, the system's time is that
    between the clock's two readings or less, and without them, that or more.
    """
    system = next((name for kind, name in SYSTEMS.items() if kind in read), "CLOCK_MONOTONIC")
    body = partial(PLANTED.format, clock=read, unit=unit, system=system, wait=WAIT, lost=LOST)
    assert "ValueError" in program(body(elapsed="earlier - later"))
    assert "Traceback" not in program(body(elapsed="after - before"), pauses=False)


SAME = """
from dlperf.workers import Workers
from tests.slow.test_pauses import beside
import time
if __name__ == "__main__":
    with Workers(2) as crew:
        for _ in range(100):
            before = time.perf_counter()
            during = crew.run(beside)
            after = time.perf_counter()
            assert all(before <= each <= after for each in during), (before, during, after)
"""


def beside(rank: int) -> float:
    import time

    return time.perf_counter()


def test_processes_see_the_same_ones() -> None:
    assert "Traceback" not in program(SAME)


def test_nothing_is_lost_before_and_a_clock_never_goes_back() -> None:
    pauses = Pauses(SEED, 10.0)
    assert pauses.lost_until(9.0) == pauses.lost_until(10.0) == 0.0
    lost = [pauses.lost_until(10 + i / 100) for i in range(10_000)]
    assert lost == sorted(lost)
    steps = list(map(float.__sub__, pauses.lost[2:], pauses.lost[1:]))
    assert clock.SHORTEST * 0.99 < min(steps) < 1e-5
    assert 0.3 < max(steps) <= clock.LONGEST + 1e-9
