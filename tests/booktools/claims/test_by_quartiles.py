"""Outcomes that quartiles decide: a median alone turns none, and where the quartiles hold the limit none is told."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from booktools.claims.claims import all_outcomes
from booktools.source.book import Book
from dlperf.measurement import Measurement
from tests.conftest import ROOT

KNOWN = all_outcomes(Book(ROOT))


def of(low: float, median: float, high: float) -> Measurement:
    """Returns a ratio with these quartiles."""
    return Measurement((low, low, median, high, high), "1")


def holding(values: Mapping[str, Measurement], *ids: str) -> list[str]:
    """Returns which of the outcomes hold with these records."""
    return [name for name in ids if KNOWN[name].holds({key: values[key] for key in KNOWN[name].keys})]


@pytest.mark.parametrize(
    ("ratio", "is_told"),
    [
        (of(0.85, 0.86, 1.01), False),
        (of(0.99, 1.2, 1.3), False),
        (of(1.01, 1.2, 1.3), True),
        (of(0.6, 0.7, 0.99), True),
    ],
)
def test_which_type_is_faster_is_told_where_one_lies_outside_the_quartiles(ratio: Measurement, is_told: bool) -> None:
    assert bool(holding({"measuring.bfloat16": ratio}, "measuring.type-told")) == is_told


@pytest.mark.parametrize(
    ("measured", "so"),
    [
        (of(1.16, 1.2, 1.24), ["async.free-told"]),
        (of(1.06, 1.22, 1.26), []),  # its median is right
        (of(1.06, 1.10, 1.21), []),  # its median is wrong, and the prediction between its quartiles
        (of(1.05, 1.10, 1.14), ["async.free-told", "async.free-missed"]),
        (of(1.26, 1.40, 1.50), ["async.free-told", "async.free-missed"]),
        (of(0.7, 1.2, 1.7), []),
    ],
)
def test_a_predicted_gain_is_right_or_wrong_where_the_quartiles_agree(measured: Measurement, so: list[str]) -> None:
    values = {"async.free-speed": measured, "async.free-speed-predicted": of(1.2, 1.2, 1.2)}
    assert holding(values, "async.free-told", "async.free-missed") == so


def test_a_predicted_gain_of_nothing_is_missed_by_any() -> None:
    values = {"async.free-speed": of(1.01, 1.2, 1.3), "async.free-speed-predicted": of(1.0, 1.0, 1.0)}
    assert holding(values, "async.free-missed")


@pytest.mark.parametrize("slower", ["drawing", "working"])
@pytest.mark.parametrize(("ratio", "is_near"), [(of(0.97, 0.98, 1.29), False), (of(0.97, 1.1, 1.19), True)])
def test_two_sides_are_as_fast_together_if_three_trials_of_four_say_so(
    slower: str, ratio: Measurement, is_near: bool
) -> None:
    values = {"async.drawing-beside": of(1, 1, 1), "async.working-beside": of(1, 1, 1), f"async.{slower}-beside": ratio}
    assert bool(holding(values, "async.side-by-side")) == is_near
