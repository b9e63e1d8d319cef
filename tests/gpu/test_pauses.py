"""The events of a simulated GPU see the pauses of a seed, as the clocks of `tests/slow/test_pauses.py` do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.pauses import clock
from tests.slow.test_pauses import LOST, SEED, WAIT

PLANTED = f"""
import math, time, torch
system = lambda: time.clock_gettime(time.CLOCK_MONOTONIC)
before, start = system(), torch.cuda.Event(enable_timing=True)
end = torch.cuda.Event(enable_timing=True)
start.record()
time.sleep({WAIT})
end.record()
end.synchronize()
took, after = start.elapsed_time(end) / 1e3, system()
math.sqrt(after - before + {LOST} - took)  # it takes for granted that nobody else had the core
"""


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
