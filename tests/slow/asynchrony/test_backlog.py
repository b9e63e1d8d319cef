"""Trials in a process of their own, which takes seconds to import PyTorch."""

from __future__ import annotations

import pytest

from dlperf.asynchrony import backlog
from dlperf.turns import InterleavedSamples


def test_trials_in_a_fresh_process_come_back_as_runs() -> None:
    found = backlog.in_fresh_process(depths=[2, backlog.UNBOUNDED], repeats=1, widths=(8, 1), number=3, device="cpu")
    assert found.keys() == {"synchronous", "depth 2", "depth inf"}
    (run,) = found["depth 2"]
    assert run.live >= backlog.BATCH_BYTES
    assert run.number == 3
    assert backlog.taken(InterleavedSamples([run]), "process").unit == "B"


def test_a_fresh_process_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="ValueError"):
        backlog.in_fresh_process(depths=[0], widths=(8, 1), number=3, device="cpu")
