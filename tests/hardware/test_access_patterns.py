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


@pytest.fixture
def a_nanosecond_each(monkeypatch):
    """Reading takes a nanosecond for each word that is read, by a clock that knows nothing else."""
    now = [0]
    real_read, real_random = access_patterns.read, access_patterns.read_at_random

    def read(words, start, apart):
        real_read(words, start, apart)
        now[0] += len(range(int(start), len(words), int(apart)))

    def read_at_random(words, bits, count, seed):
        assert 2**bits == len(words)
        real_random(words, bits, count, seed)
        now[0] += count

    monkeypatch.setattr(access_patterns, "read", read)
    monkeypatch.setattr(access_patterns, "read_at_random", read_at_random)
    monkeypatch.setattr(access_patterns, "time", SimpleNamespace(perf_counter=lambda: now[0] / 1e9))


@pytest.mark.usefixtures("a_nanosecond_each")
def test_strides_and_random_places_are_timed_by_the_word():
    words = np.zeros(2**14, np.uint64)
    taken = access_patterns.strides(words, [8, 64, 4096], repeats=3)
    taken |= {"at random": access_patterns.at_random(words, repeats=3, count=100)}
    assert {name: m.samples for name, m in taken.items()} == dict.fromkeys(
        (8, 64, 4096, "at random"), (pytest.approx(1e-9),) * 3
    )
    assert {m.unit for m in taken.values()} == {"s"}


def test_each_pass_reads_other_random_words(monkeypatch):
    """What the pass before has read may lie in a cache by then."""
    seeds = []
    monkeypatch.setattr(access_patterns, "read_at_random", lambda words, bits, count, seed: seeds.append(seed))
    access_patterns.at_random(np.zeros(2**10, np.uint64), repeats=5, count=10)
    assert len(set(seeds)) == len(seeds) == 6


def test_both_directions_read_every_word():
    words = np.zeros(2**10, np.uint64)
    assert set(access_patterns.directions(words, 3)) == {"forward", "backward"}


def test_predicted_stops_growing_at_a_line(monkeypatch):
    monkeypatch.setattr(access_patterns.caches, "line", lambda: 64)
    assert [access_patterns.predicted(s, 1e-9) for s in (8, 16, 64, 128)] == pytest.approx([1e-9, 2e-9, 8e-9, 8e-9])


def test_in_turn_does_not_count_the_first_call():
    calls = []
    taken = minimum.single_calls({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3)
    assert calls == ["a", "b"] * 4
    assert [len(m.samples) for m in taken.values()] == [3, 3]
