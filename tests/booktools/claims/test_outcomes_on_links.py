"""Outcomes of the chapters that send over links."""

from __future__ import annotations

import pytest

from dlperf.measurement import Measurement
from tests.booktools.claims.test_page_outcomes import KNOWN, holding, of


@pytest.mark.parametrize(
    ("turns", "is_clear"), [(of(1e-6, 4e-5, 9e-5), True), (of(-1e-6, 4e-5, 9e-5), False), (of(0, 0, 0), False)]
)
def test_a_latency_is_clear_if_three_turns_of_four_have_one(turns: Measurement, is_clear: bool) -> None:
    assert bool(holding({"concise.alpha-quick": turns}, "concise.latency-clear")) == is_clear


@pytest.mark.parametrize(("missed", "is_told"), [(of(1.01, 1.2, 1.3), True), (of(1.03, 1.2, 1.3), False)])
def test_small_buckets_are_told_unless_three_turns_of_four_take_longer(missed: Measurement, is_told: bool) -> None:
    assert bool(holding({"concise.smallest-missed": missed}, "concise.small-told")) == is_told


@pytest.mark.parametrize(
    ("passes", "left", "explain"),
    [
        (of(10, 12, 14), of(5, 7, 9), True),
        (of(10, 12, 14), of(5, 7, 11), False),
        (of(10, 12, 14), of(-9, -7, -5), True),  # with own passes it would be even longer
        (of(-3, -2, -1), of(-9, -7, -5), False),
        (of(0, 0, 0), of(0, 0, 0), False),
    ],
)
def test_passes_explain_an_error_of_which_they_clearly_make_most(
    passes: Measurement, left: Measurement, explain: bool
) -> None:
    values = {"concise.smallest-passes": passes, "concise.smallest-left": left}
    assert bool(holding(values, "concise.passes-explain")) == explain


@pytest.mark.parametrize(("fit", "is_told"), [(0.91, True), (1.09, True), (0.88, False), (1.2, False)])
def test_recomputing_takes_a_third_longer_to_a_tenth(fit: float, is_told: bool) -> None:
    assert KNOWN["concise.again-told"].holds({"concise.again-fit": fit}) == is_told


@pytest.mark.parametrize(
    ("spread", "error", "is_clear"), [(0.99, 0.35, False), (0.2, 0.35, True), (3.0, 0.9, True), (3.0, 1.1, False)]
)
def test_equal_accuracies_are_clear_if_their_limit_is_two_standard_errors_away(
    spread: float, error: float, is_clear: bool
) -> None:
    assert (
        KNOWN["concise.equal-clear"].holds({"concise.right-spread": spread, "concise.right-error": error}) == is_clear
    )


@pytest.mark.parametrize(("turns", "lose"), [(of(0.8, 0.9, 0.99), False), (of(0.8, 0.9, 1.0), True)])
def test_parts_beat_a_ring_in_three_turns_of_four_or_not_clearly(turns: Measurement, lose: bool) -> None:
    assert bool(holding({"servers.parts-ring": turns}, "servers.parts-lose")) == lose
