"""Tools that others trust: mbw copies, perf counts or says that it may not."""

from __future__ import annotations

import pytest

from dlperf.hardware import reference_tools
from dlperf.hardware.probe import Unknown
from tests.long.tools import require


def test_mbw_runs_all_its_tests() -> None:
    require("mbw")
    found = reference_tools.mbw(8, 2, (0, 1, 2))
    assert {name: len(rates) for name, rates in found.items()} == dict.fromkeys(("loop", "memcpy", "block"), 2)


def test_perf_counts_or_refuses() -> None:
    """perf belongs to a kernel, so that few machines have the right one."""
    try:
        counted = reference_tools.counted("instructions:u", lambda: sum(range(100_000)), seconds=0.2)
    except Unknown as unknown:
        pytest.skip(str(unknown))
    assert counted > 100_000  # an addition is an instruction or more
