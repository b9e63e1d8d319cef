"""What the system counts: new memory is found page by page, memory that is kept is not."""

from __future__ import annotations

import sys

import pytest

from dlperf import counters

pytestmark = pytest.mark.skipif(counters.resource is None, reason="the system does not tell")
BYTES = 2**26


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted as Linux does")
def test_a_call_that_takes_new_memory_is_told_by_its_pages() -> None:
    kept = bytearray(BYTES)
    # other threads of this process, and a system that moves pages about, add to some counts
    assert min(counters.page_faults(lambda: kept.__setitem__(0, 1), calls=3) for _ in range(12)) < 16
    assert counters.page_faults(lambda: bytearray(BYTES).count(1)) >= BYTES / 2**21  # pages of 2 MiB at the most


def test_without_a_count_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "resource", None)
    assert counters.page_faults(lambda: bytearray(BYTES)) == 0
