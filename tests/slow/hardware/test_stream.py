"""Real tools: mbw copies, perf counts or says that it may not."""

import shutil

import pytest

from dlperf.hardware import reference_tools
from dlperf.hardware.probe import Unknown


@pytest.mark.skipif(shutil.which("mbw") is None, reason="mbw is not installed")
def test_mbw_runs_all_its_tests():
    assert {name: len(rates) for name, rates in reference_tools.mbw(8, 2, (0, 1, 2)).items()} == dict.fromkeys(
        ("loop", "memcpy", "block"), 2
    )


def test_perf_counts_or_refuses():
    try:
        counted = reference_tools.counted("instructions:u", lambda: sum(range(100_000)), seconds=0.2)
    except Unknown as unknown:
        pytest.skip(str(unknown))
    assert counted > 100_000  # an addition is an instruction or more
