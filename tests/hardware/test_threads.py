"""Loops at the same time: that all run, what of it is clocked, and that errors come out."""

import time
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

from dlperf.hardware import smt, threads


@njit(nogil=True)
def _nothing(x):
    return x


@njit(nogil=True)
def _write(words, at, value):
    words[at] = value


def test_all_loops_run():
    words = np.zeros(4, np.int64)
    threads.at_once([partial(_write, words, i, i + 1) for i in range(4)])
    assert words.tolist() == [1, 2, 3, 4]


def test_a_compiled_loop_and_python_meet_at_one_gate():
    words = np.zeros(2, np.int64)
    threads.at_once([partial(_write, words, 0, 7), lambda: _write(words, 1, 8)])
    assert words.tolist() == [7, 8]


def test_the_clock_is_read_when_all_have_arrived_and_after_each_loop(monkeypatch):
    """By a clock that counts its readings: threads that are started, and wait at the gate, do not count."""
    events, readings, wait = [], count(1), threads.wait

    def gate(words, threads_to_come):
        if threads_to_come == 3:
            events.append("arrived")
        wait(words, threads_to_come)

    def clock(_):
        events.append("clock")
        return next(readings) * 10**9

    monkeypatch.setattr(threads, "wait", gate)
    monkeypatch.setattr(threads, "time", SimpleNamespace(clock_gettime_ns=clock))
    span = threads.at_once([lambda: events.append("loop")] * 3)
    assert events[:3] == ["arrived"] * 3
    assert (events.count("clock"), events.count("loop")) == (6, 3)
    assert span == 5  # from the first reading, a start, to the last, an end


def test_compiled_loops_are_clocked_from_the_first_start_to_the_last_end():
    """At least as long as the longest, and no longer than the whole call."""
    steps = 1_000_000
    start = time.monotonic()
    span = threads.at_once([partial(_nothing, 1), partial(smt.chain, steps, 1)])
    assert steps / 1e10 <= span <= time.monotonic() - start  # a step is a cycle or more, and no core has 10 GHz


def test_the_compiler_leaves_no_loop_out():
    assert threads.at_once([partial(smt.chain, 1_000_000, 1)]) >= 1_000_000 / 1e10


def test_errors_come_out_and_nobody_waits_for_ever():
    def fails():
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        threads.at_once([fails, partial(_nothing, 1)])
    with pytest.raises(ZeroDivisionError):
        threads.at_once([partial(_nothing, 1), lambda: 1 // 0])
