"""False sharing: that counters count, each its own, and when there are too few cores."""

import numpy as np
import pytest

from dlperf.hardware import false_sharing
from dlperf.hardware.probe import Unknown


def test_a_counter_counts_in_its_own_place():
    words = np.zeros(16, np.uint64)
    false_sharing.count(words, np.uint64(2), 1000)
    false_sharing.count(words, np.uint64(9), 10)
    assert words.tolist() == [0, 0, 1000, *[0] * 6, 10, *[0] * 6]


def test_two_counters_at_once_lose_nothing(monkeypatch):
    monkeypatch.setattr(false_sharing, "cores", lambda: 2)
    kept = []
    memory = false_sharing.pointer_chase.memory
    monkeypatch.setattr(false_sharing.pointer_chase, "memory", lambda size: kept.append(memory(size)) or kept[0])
    taken = false_sharing.increments((8, 64), repeats=3, times=1000)
    assert set(taken) == {8, 64}
    assert kept[0][[0, 1, 8]].tolist() == [6001, 3000, 3000]  # one is the call that compiles


def test_one_core_cannot_share(monkeypatch):
    monkeypatch.setattr(false_sharing, "cores", lambda: 1)
    with pytest.raises(Unknown, match="2 cores"):
        false_sharing.increments((8,))
