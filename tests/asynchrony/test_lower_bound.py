"""Trials that took less than their slower side are counted."""

from __future__ import annotations

from dlperf.asynchrony import lower_bound
from dlperf.measurement import Measurement

FOUND = {
    "enqueue": Measurement((1, 1, 3)),
    "execute": Measurement((2, 2, 1)),
    "asynchronous": Measurement((2.2, 1.8, 2.9)),
}


def test_a_loop_quicker_than_its_slower_side_is_counted() -> None:
    assert lower_bound.violations(FOUND) == 1


def test_without_a_margin_whatever_is_quicker_counts() -> None:
    assert lower_bound.violations(FOUND, margin=0) == 2
