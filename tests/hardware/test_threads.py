"""Loops at the same time: that all run, that their common start costs next to nothing, and that errors come out."""

from functools import partial

import numpy as np
import pytest
from numba import njit

from dlperf.environment import cores
from dlperf.hardware import smt, threads


@njit(nogil=True)
def _nothing(x):
    return x


@njit(nogil=True)
def _write(words, at, value):
    words[at] = value


def _span(loops):
    return min(threads.at_once(loops) for _ in range(20))


def test_all_loops_run():
    words = np.zeros(4, np.int64)
    threads.at_once([partial(_write, words, i, i + 1) for i in range(4)])
    assert words.tolist() == [1, 2, 3, 4]


def test_a_compiled_loop_and_python_meet_at_one_gate():
    words = np.zeros(2, np.int64)
    threads.at_once([partial(_write, words, 0, 7), lambda: _write(words, 1, 8)])
    assert words.tolist() == [7, 8]


@pytest.mark.skipif(cores() < 2, reason="on one core one waits for the other's turn to end")
def test_the_span_of_nothing_is_small_against_a_loop():
    loop = partial(smt.chain, 1_000_000, 1)  # two milliseconds or so
    assert _span([partial(_nothing, 1)] * 2) < 0.02 * _span([loop] * 2)


def test_the_compiler_leaves_no_loop_out():
    short, long = (_span([partial(smt.chain, steps, 1)]) for steps in (100_000, 1_000_000))
    assert long > 5 * short


def test_errors_come_out_and_nobody_waits_for_ever():
    def fails():
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        threads.at_once([fails, partial(_nothing, 1)])
    with pytest.raises(ZeroDivisionError):
        threads.at_once([partial(_nothing, 1), lambda: 1 // 0])
