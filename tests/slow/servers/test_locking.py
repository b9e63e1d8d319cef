"""Trainers under a server's lock: their steps take at least what the lock lets them, and no update is lost."""

from __future__ import annotations

import pytest

from dlperf.servers import locking


def test_no_way_is_faster_than_its_lock():
    found = locking.measured(trainers=2, steps=2, repeats=2)  # raises where two are at it, or a push is lost
    assert found.keys() == locking.WAYS.keys()
    for way, taken in found.items():
        assert min(taken.samples) > 0.99 * locking.seconds(way, 2, steps=2)


def test_trainers_wait_for_whole_steps_or_for_updates():
    assert locking.seconds("whole step", 4, 3, 0.03, 0.005) == pytest.approx(0.14)
    assert locking.seconds("update alone", 4, 1, 0.03, 0.005) == pytest.approx(0.05)  # all arrive at once
    assert locking.seconds("update alone", 4, 3, 0.03, 0.005) == pytest.approx((0.05 + 2 * 0.035) / 3)
    assert locking.seconds("update alone", 20, 3, 0.03, 0.005) == pytest.approx((0.03 + 60 * 0.005) / 3)
    with pytest.raises(ValueError, match="got 'both'"):
        locking.seconds("both", 4, 1)
