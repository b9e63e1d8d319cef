"""The events of a simulated GPU see the pauses of a seed, as the clocks of `tests/slow/test_pauses.py` do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.pauses import clock
from tests.pauses.clock import Pauses
from tests.slow.test_pauses import LOST, SEED

WAIT = 3.0
"""Seconds, of which the pauses of the seed take at least one more than `LOST`: real ones may come before an event."""

PLANTED = f"""
import math, time, torch
system = lambda: time.clock_gettime(time.CLOCK_MONOTONIC)
first, start, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
first.record()  # whatever happens only once
before = system()
start.record()
time.sleep({WAIT})
end.record()
end.synchronize()
took, after = start.elapsed_time(end) / 1e3, system()
math.sqrt(after - before + {LOST} - took)  # it takes for granted that nobody else had the core
"""


def test_the_seed_leaves_room_for_real_pauses() -> None:
    pauses = Pauses(SEED, 0.0)
    windows = [start / 10 for start in range(10 * 120)]
    assert min(pauses.lost_until(start + WAIT) - pauses.lost_until(start) for start in windows) > LOST + 1


@pytest.mark.parametrize("pauses", [True, False])
def test_an_event_sees_pauses(library: Path, pauses: bool) -> None:
    """By a bug that shows with pauses and never without, in a process that is started as a page's kernel is."""
    given = {
        **os.environ,
        "SIMULATED_CUDA_LIBRARY": str(library),
        "PYTHONPATH": os.pathsep.join((str(Path(__file__).parent / "site"), str(ROOT / "code"), str(ROOT))),
    }
    given = clock.variables(SEED, given) if pauses else given
    seen = subprocess.run([sys.executable, "-c", PLANTED], env=given, capture_output=True, text=True).stderr
    assert ("ValueError" in seen) == pauses, seen
