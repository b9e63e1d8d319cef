"""What is found out about captured programs is what they are known for."""

from __future__ import annotations

import pytest

from dlperf.compilers import capture, symbolic

OURS: capture.Capture = lambda fn, x: symbolic.compile(fn, x, fused=False)


@pytest.mark.parametrize("way", [OURS, *capture.WAYS.values()])
def test_whoever_only_computes_is_kept_by_all(way: capture.Capture) -> None:
    assert capture.outcome(way, capture.computes) == capture.AS_IN_PYTHON


@pytest.mark.parametrize("fn", capture.PROGRAMS.values())
def test_python_is_as_in_python(fn: capture.Function) -> None:
    assert capture.outcome(lambda fn, x: fn, fn) == capture.AS_IN_PYTHON


def test_a_trace_takes_one_side_of_a_branch_and_says_so_and_ours_takes_none() -> None:
    assert capture.outcome(capture.WAYS["torch.jit.trace"], capture.branches) == capture.WARNED
    assert capture.outcome(OURS, capture.branches) == capture.REFUSED


def test_a_trace_is_compared_with_a_second_one() -> None:
    trace = capture.WAYS["torch.jit.trace"]
    assert capture.outcome(trace, capture.draws_a_number) == capture.REFUSED
    assert capture.outcome(trace, capture.loops_over_rows) == capture.DIFFERENT  # the second has as many rows


def test_a_setting_is_read_once_by_a_trace_and_watched_by_guards() -> None:
    assert capture.outcome(OURS, capture.reads_a_setting) == capture.DIFFERENT
    assert capture.outcome(capture.WAYS["torch.compile"], capture.reads_a_setting) == capture.AS_IN_PYTHON
