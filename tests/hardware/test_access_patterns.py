"""Orders of reading: that every word is read, one at a time, and what is predicted."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

from dlperf.hardware import access_patterns, atomics, minimum
from tests.assembly import instructions


@njit
def _count(words, at, times):
    for _ in range(times):
        atomics.store(words, at, atomics.load(words, at) + np.uint64(1))


@njit
def _first(words):
    return atomics.load(words, np.uint64(0))


def test_atomic_loads_and_stores_do_what_they_say():
    words = np.arange(10, dtype=np.uint64)
    _count(words, np.uint64(3), 5)
    assert words.tolist() == [0, 1, 2, 8, 4, 5, 6, 7, 8, 9]


def test_atomic_stores_stay_in_the_loop():
    loop = instructions(_count, np.zeros(2, np.uint64), np.uint64(0), 1)
    # A loop that adds all at once would be one addition of a register; this one increments memory again and again.
    assert re.search(r"\tincq\t\(%\w+,%\w+,8\)", loop)  # once or, unrolled, several times


def test_atomic_refuses_words_that_are_not_side_by_side():
    with pytest.raises(Exception, match="side by side"):
        _first(np.zeros(10, np.uint64)[::2])


def test_reading_is_neither_left_out_nor_done_in_vectors():
    body = instructions(access_patterns.read, np.zeros(100, np.uint64), np.uint64(0), np.uint64(1))
    assert not {"gather", "xmm", "ymm", "zmm"} & set(re.findall(r"gather|[xyz]mm", body))
    assert re.search(r"\tmovq\t\([^)]*\), %r", body)  # once or, unrolled, several times


def test_strides_are_timed_by_the_word(monkeypatch):
    """Reading takes a nanosecond for each word that is read, by a clock that knows nothing else."""
    now, real = [0], access_patterns.read

    def read(words, start, apart):
        real(words, start, apart)
        now[0] += len(range(int(start), len(words), int(apart)))

    monkeypatch.setattr(access_patterns, "read", read)
    monkeypatch.setattr(access_patterns, "time", SimpleNamespace(perf_counter=lambda: now[0] / 1e9))
    found = access_patterns.strides(np.zeros(1024, np.uint64), [8, 64], repeats=2)
    assert [m.median for m in found.values()] == pytest.approx([1e-9, 1e-9])


def test_in_turn_does_not_count_the_first_call():
    calls = []
    taken = minimum.single_calls({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3)
    assert calls == ["a", "b"] * 4
    assert [len(m.samples) for m in taken.values()] == [3, 3]
