"""Distributions: what resampling must give on samples whose answer is known."""

import numpy as np
import pytest

from dlperf.measurement import Measurement
from dlperf.measuring import distribution

NORMAL = np.random.default_rng(0).normal(100, 5, 1000)
ROWS = distribution.at_random, distribution.in_a_row


def test_rows_at_random_and_in_a_row_are_what_they_say():
    samples = np.arange(100.0)
    row = distribution.in_a_row(samples, 10, draws=50)
    assert row.shape == distribution.at_random(samples, 10, draws=50).shape == (50, 10)
    assert np.all(np.diff(row, axis=1) == 1)
    assert not np.all(np.diff(distribution.at_random(samples, 10, draws=50), axis=1) == 1)
    assert np.array_equal(distribution.in_a_row(samples, 100, draws=1), [samples])


def test_width_shrinks_like_the_square_root():
    few, many = (distribution.interval_width(distribution.in_a_row(NORMAL, n, 40)) for n in (25, 400))
    assert few / many == pytest.approx(4, rel=0.25)


def test_width_of_constant_samples_is_nothing():
    assert distribution.interval_width(np.full((3, 20), 3.0)) == 0


def test_coverage_of_the_mean_of_a_normal_is_near_what_is_promised():
    rows = distribution.at_random(NORMAL, 60)
    assert 0.88 <= distribution.coverage(rows, np.mean(NORMAL), np.mean) <= 0.99


def test_coverage_falls_short_where_a_rare_value_makes_the_mean():
    tailed = (1.0,) * 99 + (1000.0,)
    assert distribution.coverage(distribution.at_random(tailed, 10), np.mean(tailed), np.mean) < 0.5


def test_coverage_falls_short_in_a_row_where_samples_hang_together():
    wander = 100 + np.cumsum(np.random.default_rng(2).normal(0, 1, 2000))
    shares = [distribution.coverage(draw(wander, 50), np.median(wander)) for draw in ROWS]
    assert shares[0] > 0.85 > 0.5 > shares[1]


def test_same_against_same_centres_on_one_and_narrows():
    one, many = (distribution.same_against_same(NORMAL, n) for n in (1, 50))
    assert np.median(many) == pytest.approx(1, abs=0.01)
    assert np.ptp(many) < np.ptp(one)


def test_same_against_same_compares_neighbours():
    drifting = 2.0 ** np.arange(64)  # each block of three is eight times the one before it
    assert set(distribution.same_against_same(drifting, 3)) == {1 / 8}
    with pytest.raises(ValueError, match="not 66"):
        distribution.same_against_same(drifting, 33)


def test_near_counts_shares():
    assert distribution.near(Measurement((1.0, 1.05, 2.0, 4.0)), 1.0) == 0.5
    assert distribution.near(Measurement((1.0, 9.0)), 5.0) == 0.0


def test_the_medians_of_independent_samples_spread_as_the_interval_promises() -> None:
    samples = np.random.default_rng(0).normal(100, 10, 4000)
    rows = distribution.at_random(samples, 50, draws=2000)
    assert distribution.width_of_medians(rows) == pytest.approx(distribution.interval_width(rows[:200]), rel=0.15)


def test_the_medians_of_samples_that_wander_spread_farther_than_the_interval_promises() -> None:
    """Slow waves of speed with little noise: fifty in a row see one part of a wave."""
    wave = 100 + 10 * np.sin(np.arange(4000) / 150) + np.random.default_rng(0).normal(0, 1, 4000)
    rows = distribution.in_a_row(wave, 50, draws=500)
    assert distribution.width_of_medians(rows) > 5 * distribution.interval_width(rows[:100])
