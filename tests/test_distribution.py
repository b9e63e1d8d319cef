"""Distributions: what resampling must give on samples whose answer is known."""

import numpy as np
import pytest

from dlperf import distribution
from dlperf.measurement import Measurement

NORMAL = Measurement(tuple(np.random.default_rng(0).normal(100, 5, 400)))


def test_width_shrinks_like_the_square_root():
    ratio = distribution.interval_width(NORMAL, 25) / distribution.interval_width(NORMAL, 400)
    assert ratio == pytest.approx(4, rel=0.25)


def test_width_of_constant_samples_is_nothing():
    assert distribution.interval_width(Measurement((3.0,) * 20), 10) == 0


def test_coverage_of_the_mean_of_a_normal_is_near_what_is_promised():
    assert 0.88 <= distribution.coverage(NORMAL.samples, 60, np.mean) <= 0.99


def test_coverage_falls_short_where_a_rare_value_makes_the_mean():
    tailed = (1.0,) * 99 + (1000.0,)
    assert distribution.coverage(tailed, 10, np.mean) < 0.5


def test_same_against_same_centres_on_one_and_narrows():
    one, many = (distribution.same_against_same(NORMAL, n) for n in (1, 50))
    assert np.median(many) == pytest.approx(1, abs=0.01)
    assert np.ptp(many) < np.ptp(one)


def test_farthest_by_chance_is_what_alike_processes_show():
    rng = np.random.default_rng(1)
    alike = [rng.normal(scale, 0.05 * scale, 20) for scale in (1, 2, 3, 4, 5)]  # levels differ, scatter does not
    medians = np.median(rng.normal(1, 0.05, (4000, 5, 20)), axis=2)
    shown = np.median(medians.max(axis=1) / medians.min(axis=1))
    assert distribution.farthest_by_chance(alike) - 1 == pytest.approx(shown - 1, rel=0.3)
    assert distribution.farthest_by_chance([[2.0] * 4, [5.0] * 4]) == 1


def test_near_counts_shares():
    assert distribution.near(Measurement((1.0, 1.05, 2.0, 4.0)), 1.0) == 0.5
    assert distribution.near(Measurement((1.0, 9.0)), 5.0) == 0.0
