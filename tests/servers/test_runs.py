"""What is read off a run of workers, on traces made by hand, and the rates that are predicted."""

from __future__ import annotations

import pytest

from dlperf.servers.consistency import Run, Trace, rates


def made_up(ends: list[list[float]], curve: list[tuple[float, float]]) -> Run:
    traces = [Trace(ends=each) for each in ends]
    traces[0].curve = curve
    return Run(0, 1, traces)


RUN = made_up([[1.0, 2.0, 3.0, 4.0], [2.0, 4.0]], [(0.0, 3.0), (1.0, 2.0), (2.0, 1.0), (3.0, 1.5)])


def test_steps_are_counted_over_the_same_time():
    assert RUN.duration == 4.0
    assert RUN.rates == [1.0, 0.5]


def test_a_loss_is_reached_when_it_is_first_so_low():
    assert RUN.last == 1.5
    assert RUN.reaches(2.0) == 1.0
    assert RUN.reaches(1.5) == 2.0
    assert RUN.reaches(0.1) == 3.0  # never: the last snapshot
    assert [RUN.has_reached(loss) for loss in (1.5, 0.1)] == [True, False]


def test_who_waits_takes_the_straggler_s_time_and_slack_is_used_once():
    assert rates(0, 0.02, 8, 4.0) == pytest.approx([6.25] * 4)
    assert rates(None, 0.02, 8, 4.0) == pytest.approx([50, 50, 50, 6.25])
    assert rates(4, 0.02, 8, 4.0) == pytest.approx([7.25, 7.25, 7.25, 6.25])
    assert rates(4, 0.02, 1, 0.01) == pytest.approx([50] * 4)  # no slack makes anyone faster than alone
