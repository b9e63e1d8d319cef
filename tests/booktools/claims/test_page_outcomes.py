"""Outcomes of pages that quartiles or several records decide."""

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


@pytest.mark.parametrize(
    ("measured", "so"),
    [
        (of(1.16, 1.18, 1.19), ["async.free-told"]),
        (of(1.16, 1.2, 1.24), []),  # right if the prediction's median is, too far above its lower quartile
        (of(1.05, 1.08, 1.11), ["async.free-told", "async.free-missed"]),
        (of(1.05, 1.08, 1.13), []),  # too far below the median, not below the lower quartile
    ],
)
def test_a_prediction_that_scatters_is_as_uncertain_as_its_quartiles(measured: Measurement, so: list[str]) -> None:
    values = {"async.free-speed": measured, "async.free-speed-predicted": of(1.16, 1.18, 1.20)}
    assert holding(values, "async.free-told", "async.free-missed") == so


@pytest.mark.parametrize(
    ("speed", "share", "is_told"),
    [
        (of(1.15, 1.2, 1.3), of(0.9, 1.0, 1.1), True),
        (of(1.05, 1.2, 1.3), of(0.9, 1.0, 1.1), False),  # a saving may be too small for shares of it
        (of(1.15, 1.2, 1.3), of(0.96, 1.21, 1.46), False),
        (of(1.15, 1.2, 1.3), of(-1.1, -1.0, -0.9), False),
    ],
)
def test_the_share_of_a_saving_is_told_where_both_are_steady(
    speed: Measurement, share: Measurement, is_told: bool
) -> None:
    assert bool(holding({"async.free-speed": speed, "async.two-saved": share}, "async.saves")) == is_told


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


@pytest.mark.parametrize(
    ("denormal", "flushed", "zeros", "is_why"),
    [(18, 3.7, 5, True), (18, 3.7, 2, False), (18, 12, 8, False), (18, 1.05, 1.04, False), (1, 1, 1, False)],
)
def test_roots_of_zeros_explain_what_flushing_leaves(
    denormal: float, flushed: float, zeros: float, is_why: bool
) -> None:
    ratios = {"slow.denormal": denormal, "slow.flushed": flushed, "slow.zeros": zeros}
    assert bool(holding({key: of(each, each, each) for key, each in ratios.items()}, "slow.zeros")) == is_why


@pytest.mark.parametrize(
    ("across", "longer", "small", "so"),
    [
        (12, 11, 2.4, ["slow.evicted"]),
        (12, 5, 2.4, ["slow.evicted", "slow.sets"]),
        (12, 3, 2.4, ["slow.sets"]),
        (3, 3, 2.4, []),
    ],
)
def test_room_in_a_cache_and_rows_of_a_power_of_two_are_told_apart(
    across: float, longer: float, small: float, so: list[str]
) -> None:
    ratios = {"slow.across": across, "slow.across-longer": longer, "slow.across-small": small}
    values = {key: of(each, each, each) for key, each in ratios.items()}
    assert holding(values, "slow.evicted", "slow.sets") == so
