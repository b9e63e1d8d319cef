"""Young's and Daly's intervals, held against a simulation that steps through time, and against SciPy's minimum."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dlperf.concise import young

COST, MTBF = 60.0, 10_000.0


def stepped(every: float, cost: float, gaps: list[float], restart: float, writing: float) -> float:
    """Returns the share that is no progress, event by event: nothing here is computed in one go."""
    useful = wall = 0.0
    for gap in gaps:
        clock = saved = done = 0.0
        while True:
            clock += every + cost
            done += every
            if clock + writing > gap:
                break
            saved = done
        useful += saved
        wall += gap + restart
    return 1 - useful / wall


@pytest.mark.parametrize("restart", [0.0, 100.0])
@pytest.mark.parametrize("writing", [0.0, 30.0])
@pytest.mark.parametrize("every", [200.0, 1000.0, 4000.0])
def test_simulation_is_the_one_that_steps_through_time(every: float, writing: float, restart: float) -> None:
    gaps = young.failures(MTBF, 500)
    told = young.simulate(every, COST, gaps, restart, writing)
    assert told == pytest.approx(stepped(every, COST, gaps.tolist(), restart, writing), abs=1e-9)


@pytest.mark.parametrize("every", [300.0, 1000.0, 3000.0])
def test_simulation_comes_near_dalys_cost(every: float) -> None:
    told = young.lost_exactly(every, COST, MTBF)
    assert young.simulate(every, COST, young.failures(MTBF, 200_000)) == pytest.approx(told, rel=0.02)


def test_young_minimises_the_first_order_cost() -> None:
    every = np.geomspace(100, 10_000, 20_001)
    best = every[np.argmin([young.lost(each, COST, MTBF) for each in every])]
    assert young.interval(COST, MTBF) == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("cost", [1.0, 100.0, 3000.0])
def test_daly_minimises_the_exact_cost(cost: float) -> None:
    every = np.geomspace(10, 100_000, 20_001)
    shares = [young.lost_exactly(each, cost, MTBF) for each in every]
    assert young.lost_exactly(young.daly(cost, MTBF), cost, MTBF) == pytest.approx(min(shares), rel=1e-3)


def test_daly_is_young_where_a_checkpoint_is_cheap_and_the_mtbf_where_it_is_not() -> None:
    assert young.daly(1e-3, MTBF) == pytest.approx(young.interval(1e-3, MTBF), rel=1e-3)
    assert young.daly(3 * MTBF, MTBF) == MTBF


@pytest.mark.parametrize("shape", [0.7, 1.0])
def test_failures_have_the_mean_and_the_spread_of_their_distribution(shape: float) -> None:
    gaps = young.failures(MTBF, 200_000, shape)
    gamma = math.gamma
    spread = math.sqrt(gamma(1 + 2 / shape) / gamma(1 + 1 / shape) ** 2 - 1)
    assert gaps.mean() == pytest.approx(MTBF, rel=0.02)
    assert gaps.std() / gaps.mean() == pytest.approx(spread, rel=0.03)


def test_a_job_fails_as_often_as_all_its_devices() -> None:
    assert young.job_mtbf(100, 1000.0) == 10.0
    with pytest.raises(ValueError, match="at least one device, got 0"):
        young.job_mtbf(0, 1000.0)


def test_costs_are_positive() -> None:
    with pytest.raises(ValueError, match="positive seconds, got 0"):
        young.interval(0, MTBF)
