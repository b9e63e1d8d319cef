"""A measurement as a value: statistics against NumPy and SciPy's definitions, units, JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.measurement import Measurement, UnitError, format_quantity

SAMPLES = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=50)


@given(SAMPLES)
def test_statistics_are_numpy_s(samples: list[float]) -> None:
    m = Measurement(tuple(samples))
    assert m.median == np.median(samples)
    assert m.iqr == pytest.approx(np.subtract(*np.percentile(samples, [75, 25])))
    assert m.mean == pytest.approx(np.mean(samples))


@given(SAMPLES)
def test_json_brings_back_an_equal_measurement(samples: list[float]) -> None:
    m = Measurement(tuple(samples), "s", "words", 3, {"cpu": "x"})
    assert Measurement.from_json(json.loads(json.dumps(m.to_json()))) == m


def test_json_that_is_not_a_measurement_is_refused() -> None:
    with pytest.raises(ValueError, match="samples"):
        Measurement.from_json({"unit": "s"})


def test_units_that_do_not_go_together_are_refused() -> None:
    time, rate = Measurement((1.0,), "s"), Measurement((1.0,), "B/s")
    with pytest.raises(UnitError, match="s over B/s"):
        time / rate
    with pytest.raises(UnitError):
        time + rate
    with pytest.raises(UnitError, match="in B/s"):
        rate.per_second(1, "B")
    with pytest.raises(UnitError, match="'furlong'"):
        Measurement((1.0,), "furlong")


def test_a_measurement_needs_finite_samples() -> None:
    for bad in ((), (float("nan"),), (1.0, float("inf"))):
        with pytest.raises(ValueError, match="finite"):
            Measurement(bad)


def test_ratio_pairs_samples_taken_alternately() -> None:
    a, b = Measurement((2.0, 4.0, 8.0)), Measurement((1.0, 2.0, 4.0))
    assert (a / b).samples == (2.0, 2.0, 2.0)
    assert (a / b).unit == "1"
    assert (a / Measurement((2.0,))).samples == (1.0, 2.0, 4.0)


def test_rate_is_amount_over_time() -> None:
    rate = Measurement((0.5, 0.25)).per_second(1e9, "B")
    assert rate.samples == (2e9, 4e9)
    assert str(Measurement((0.5,)).per_second(1e9, "B")) == "2.00 GB/s"


def test_bootstrap_interval_covers_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        low, high = Measurement(tuple(rng.lognormal(size=40))).interval(0.9, resamples=400)
        covered += low <= 1.0 <= high
    assert 0.83 <= covered / 200 <= 0.97


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.214e-6, "s", "3.21 µs"),
        (0.9999999, "s", "1.00 s"),
        (125.0, "s", "125 s"),
        (12.44e9, "B/s", "12.4 GB/s"),
        (5e10, "FLOP/s", "50.0 GFLOP/s"),
        (3, "1", "3"),
        (1000, "1", "1000"),
        (1.8349, "1", "1.83"),
        (0.0, "s", "0 s"),
        (512, "B", "512 B"),
    ],
)
def test_quantities_read_as_people_write_them(value: float, unit: str, text: str) -> None:
    assert format_quantity(value, unit) == text
