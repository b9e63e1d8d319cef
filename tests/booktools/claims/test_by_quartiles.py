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
