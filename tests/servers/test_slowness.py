"""A sweep over stragglers: what follows from the run without one, how stale pushes are, and what is gained."""

from __future__ import annotations

import pytest

from dlperf.servers.consistency import Run, Trace, rates
from dlperf.servers.slowness import Sweep


def made_up(staleness: int | None, slow: float, ends: list[list[float]], curve: list[tuple[float, float]]) -> Run:
    """Returns a made-up run, in which each worker saw none of the pushes that came in its step, one of each other."""
    workers = len(ends)
    traces = [
        Trace(
            read=[[step] * workers for step in range(len(each))],
            pushed=[[step + 1] * workers for step in range(len(each))],
            ends=each,
            curve=curve if worker == 0 else [],
        )
        for worker, each in enumerate(ends)
    ]
    return Run(staleness, slow, traces)


ALONE = [[0.3, 0.6, 0.9]] * 2
"""Two workers, whose steps take 0.3 s: 0.2 of them compute, 0.1 are messages."""


@pytest.fixture
def sweep() -> Sweep:
    late = [(0.0, 1.0), (3.0, 0.5)]
    return Sweep(
        {
            (0, 1): made_up(0, 1, ALONE, [(0.0, 1.0), (0.9, 0.6)]),
            (None, 1): made_up(None, 1, ALONE, [(0.0, 1.0), (0.9, 0.6)]),
            (0, 4): made_up(0, 4, [[0.9, 1.8, 2.7]] * 2, late),
            (None, 4): made_up(None, 4, [[0.3 * n for n in range(1, 10)], [0.9, 1.8, 2.7]], [(0.0, 1.0), (1.0, 0.4)]),
        },
        step=0.2,
    )


def test_what_follows_from_the_run_without_a_straggler(sweep):
    assert sweep.stalenesses == [0, None]
    assert sweep.slownesses == [1, 4]
    assert sweep.messages(0) == pytest.approx(0.1)
    assert sweep.told(0, 4) == pytest.approx(2 / 0.9)
    assert sweep.told(None, 4) == pytest.approx(1 / 0.3 + 1 / 0.9)
    assert sweep.off == pytest.approx(0, abs=1e-9)


def test_the_run_that_is_off_most_counts_and_the_one_without_a_straggler_does_not(sweep):
    runs = dict(sweep.runs)
    runs[0, 4] = made_up(0, 4, [[1.8, 2.7]] * 2, [(0.0, 1.0), (3.0, 0.5)])  # two steps where three were told
    assert Sweep(runs, 0.2).off == pytest.approx(0.5)


def test_messages_are_never_fewer_than_none(sweep):
    assert Sweep(sweep.runs, step=0.5).messages(0) == 0


def test_how_stale_pushes_are_and_what_is_gained(sweep):
    assert sweep.stale(0, 4) == pytest.approx(1)  # one other worker, whose push of the same step was not seen
    assert sweep.gain(None, 4) == pytest.approx(3)
    assert sweep.gain(0, 4) == pytest.approx(1)
    assert sweep.has_reached(None, 4)


def test_a_run_that_never_reaches_the_loss_counts_with_its_end(sweep):
    runs = dict(sweep.runs)
    runs[None, 4] = made_up(None, 4, ALONE, [(0.0, 1.0), (2.0, 0.7)])
    assert Sweep(runs, 0.2).gain(None, 4) == pytest.approx(1.5)
    assert not Sweep(runs, 0.2).has_reached(None, 4)


@pytest.mark.parametrize(("staleness", "others"), [(0, 1 / 0.9), (2, 1 / 0.9 + 2 / 4), (None, 1 / 0.3)])
def test_messages_come_on_top_of_what_a_step_computes(staleness, others):
    told = rates(staleness, 0.2, 4, 4.0, workers=3, messages=0.1)
    assert told == pytest.approx([others, others, 1 / 0.9])
