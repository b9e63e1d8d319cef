"""Failures and stragglers: closed forms against simulations that do not know them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlperf.concise.young import interval
from dlperf.servers import failures, stragglers

LI = [0.078, 0.137, 0.247]
"""The shares of jobs that failed, of 10^2, 10^3 and 10^4 machine-hours: Li et al., OSDI 2014, table 1."""


def close(samples, expected):
    """Asserts that a mean is within four of its standard errors."""
    error = np.std(samples) / math.sqrt(len(samples))
    assert abs(np.mean(samples) - expected) < 4 * error


@pytest.mark.parametrize(("mtbf", "restart"), [(10.0, 0.0), (10.0, 3.0), (200.0, 5.0)])
def test_jobs_that_restart_take_as_long_as_daly_says(mtbf, restart):
    draw = np.random.default_rng(1)
    found = [failures.simulate_restarts(100.0, mtbf, 5.0, 0.5, restart, draw) for _ in range(400)]
    close(found, failures.restarted(100.0, mtbf, 5.0, 0.5, restart))


@pytest.mark.parametrize(("mtbf", "takeover"), [(10.0, 3.0), (2.0, 3.0), (200.0, 10.0)])
def test_jobs_whose_ranges_are_taken_over_take_as_long_as_the_queue_says(mtbf, takeover):
    draw = np.random.default_rng(2)
    found = [failures.simulate_takeovers(100.0, mtbf, takeover, draw) for _ in range(400)]
    close(found, failures.taken_over(100.0, mtbf, takeover))


def test_a_job_that_never_fails_takes_its_work_and_its_checkpoints():
    draw = np.random.default_rng(0)
    assert failures.simulate_restarts(100.0, 1e12, 5.0, 0.5, 3.0, draw) == pytest.approx(110)
    assert failures.simulate_takeovers(100.0, 1e12, 3.0, draw) == pytest.approx(100)


@given(st.floats(100, 1e6), st.floats(1, 100))
def test_young_s_interval_is_better_than_half_and_than_twice_as_long(mtbf, cost):
    if cost > mtbf / 50:
        return
    best = interval(cost, mtbf)
    seconds = [failures.restarted(1.0, mtbf, every, cost) for every in (best / 2, best, best * 2)]
    assert min(seconds) == seconds[1]


def test_useful_time_falls_with_machines_and_simulated_jobs_agree_with_the_formula():
    few, many = (failures.useful_time(machines, rate=3e-5) for machines in (64, 4096))
    for way in few:
        assert 1 > few[way].predicted > many[way].predicted
        assert many[way].simulated == pytest.approx(many[way].predicted, rel=0.15)
    assert many["begin anew"].predicted < many["checkpoints"].predicted < many["takeovers"].predicted


def test_work_that_is_no_whole_number_of_intervals_is_refused():
    with pytest.raises(ValueError, match=r"a multiple of 3\.0 s, got 10\.0 s"):
        failures.simulate_restarts(10.0, 1.0, 3.0, 0.1, 0.0, np.random.default_rng(0))


@given(st.floats(1e-6, 1e-2), st.floats(1, 1e3))
def test_the_implied_rate_is_the_one_that_made_the_share(rate, hours):
    assert failures.implied_rate(failures.failing(rate, hours), hours) == pytest.approx(rate, rel=1e-6)


@given(st.floats(1e-6, 1e-4), st.floats(0.1, 3))
def test_the_shape_is_found_again(rate, shape):
    hours = [10.0, 100.0, 1000.0]
    shares = [failures.failing(rate, h**shape) for h in hours if rate * h**shape < 20]
    if len(shares) > 1:
        assert failures.weibull_shape(shares, hours[: len(shares)]) == pytest.approx(shape, rel=1e-4)


def test_the_published_shares_have_no_constant_rate():
    rates = [failures.implied_rate(share, 10.0**k) for share, k in zip(LI, (2, 3, 4), strict=True)]
    assert rates[0] > 5 * rates[1] > 5 * 5 * rates[2]
    assert failures.failing(rates[0], 1e4) > 0.999
    assert 0.2 < failures.weibull_shape(LI, [1e2, 1e3, 1e4]) < 0.35


@pytest.mark.parametrize("share", [1.0, -0.1])
def test_a_share_that_no_rate_explains_is_refused(share):
    with pytest.raises(ValueError, match="a share is in"):
        failures.implied_rate(share, 1.0)


def exponential(steps, workers, seed=0):
    return np.random.default_rng(seed).exponential(1.0, (steps, workers))


@pytest.mark.parametrize("needed", [1, 6, 8])
def test_the_mean_step_is_a_sum_of_harmonic_numbers(needed):
    ends = stragglers.for_first(exponential(20_000, 8), needed)
    assert ends[-1] / 20_000 == pytest.approx(stragglers.expected(8, needed), rel=0.03)


@given(steps=st.integers(1, 20), workers=st.integers(1, 6), seed=st.integers(0, 999))
@settings(max_examples=40)
def test_staleness_lies_between_waiting_for_all_and_for_nobody(steps, workers, seed):
    compute = exponential(steps, workers, seed)
    by_staleness = [stragglers.within(compute, s) for s in (0, 1, 3, steps)]
    np.testing.assert_allclose(by_staleness[0].max(axis=1), stragglers.for_all(compute))
    np.testing.assert_allclose(by_staleness[-1], compute.cumsum(axis=0))
    for stricter, looser in pairwise(by_staleness):
        assert (looser <= stricter + 1e-9).all()
    np.testing.assert_allclose(stragglers.for_first(compute, workers), stragglers.for_all(compute))


def test_nobody_is_further_ahead_than_the_staleness():
    done = stragglers.within(exponential(200, 5), 2)
    begun = np.vstack([np.zeros(5), done[:-1]])
    for step in range(3, 200):
        others = done[step - 3].max()
        assert (np.maximum(begun[step], others) <= done[step]).all()


def test_stragglers_refuse_what_cannot_be():
    with pytest.raises(ValueError, match="1 to 5 workers, got 6"):
        stragglers.for_first(exponential(2, 5), 6)
    with pytest.raises(ValueError, match="at least 0, got -1"):
        stragglers.within(exponential(2, 5), -1)
