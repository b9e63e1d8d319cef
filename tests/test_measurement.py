"""A measurement as a value: statistics against NumPy and SciPy's definitions, units, JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.measurement import Measurement, PairingError, UnitError, format_quantity

SAMPLES = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=50)


@given(SAMPLES)
def test_statistics_are_numpy_s(samples: list[float]) -> None:
    m = Measurement(tuple(samples))
    assert m.median == np.median(samples)
    assert m.iqr == pytest.approx(np.subtract(*np.percentile(samples, [75, 25])))
    assert m.mean == pytest.approx(np.mean(samples))


@given(SAMPLES)
def test_json_brings_back_an_equal_measurement(samples: list[float]) -> None:
    m = Measurement(tuple(samples), "s", "words", 3, {"cpu": "x"}, "turns")
    assert Measurement.from_json(json.loads(json.dumps(m.to_json()))) == m
    former = {"turns" if name == "pairing_id" else name: value for name, value in m.to_json().items()}
    assert Measurement.from_json(former) == m  # of a record that is older


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


def test_ratio_and_sum_pair_samples_that_were_taken_in_turn() -> None:
    a, b = (Measurement(samples, pairing_id="t") for samples in ((2.0, 4.0, 8.0), (1.0, 2.0, 4.0)))
    assert (a / b).samples == (2.0, 2.0, 2.0)
    assert (a / b).unit == "1"
    assert (a + b).samples == (3.0, 6.0, 12.0)
    assert ((a / b) / (b / a)).samples == (4.0, 4.0, 4.0)  # still turn by turn


def test_differences_and_the_larger_side_are_taken_turn_by_turn() -> None:
    a, b = (Measurement(samples, pairing_id="t") for samples in ((2.0, 4.0), (3.0, 1.0)))
    assert (a - b).samples == (-1.0, 3.0)
    assert a.larger(b).samples == (3.0, 4.0)
    assert (a - b).pairing_id == "t"


def test_a_number_scales_a_measurement_and_stands_over_it() -> None:
    a = Measurement((2.0, 4.0), "s", "words", pairing_id="t")
    assert (3 * a).samples == (a * 3).samples == (6.0, 12.0)
    assert (a / 2) == Measurement((1.0, 2.0), "s", "words", pairing_id="t")
    assert ((8.0 / a).samples, (8.0 / a).unit) == ((4.0, 2.0), "1")


@pytest.mark.parametrize("turns", [("", ""), ("t", ""), ("t", "u")])
def test_samples_that_were_not_taken_in_turn_are_not_paired_whatever_their_number(turns: tuple[str, str]) -> None:
    a, b = (Measurement((1.0, 2.0), pairing_id=mark) for mark in turns)
    for combined in (lambda: a / b, lambda: a + b, lambda: a.pairs(b)):
        with pytest.raises(PairingError, match=r"timing\.interleave"):
            combined()


def test_a_side_that_lost_a_turn_is_not_paired() -> None:
    with pytest.raises(PairingError):
        Measurement((1.0, 2.0), pairing_id="t") / Measurement((1.0,), pairing_id="t")


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
        (56_300.0, "1/s", "56.3 k/s"),
        (4.2e9, "1/s", "4.20 G/s"),
        (12.5, "1/s", "12.5/s"),
    ],
)
def test_quantities_read_as_people_write_them(value: float, unit: str, text: str) -> None:
    assert format_quantity(value, unit) == text


@pytest.mark.parametrize(
    ("spread", "text"), [(0.0, "1.83 s"), (0.004, "1.83 s"), (0.04, "1.83 s"), (0.4, "1.8 s"), (4.0, "1.8 s")]
)
def test_digits_follow_from_the_spread(spread: float, text: str) -> None:
    m = Measurement((1.8349 - spread / 2, 1.8349, 1.8349 + spread / 2), "s")
    assert str(Measurement((m.quartiles[0], *[m.median] * 3, m.quartiles[1]))) == "1.83 s"  # no spread in the middle
    wide = Measurement(tuple(1.8349 + spread * x for x in (-0.5, -0.5, 0, 0.5, 0.5)), "s")
    assert str(wide) == text
