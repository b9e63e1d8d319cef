"""Loops at the same time: their common start costs next to nothing, and a longer loop takes longer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from numba import njit

from dlperf.environment import cores
from dlperf.hardware import smt, threads


@njit(nogil=True)
def _nothing(x: int) -> int:
    return x


def _span(loops: Sequence[Callable[[], Any]]) -> float:
    return min(threads.at_once(loops) for _ in range(20))


@pytest.mark.skipif(cores() < 2, reason="on one core one waits for the other's turn to end")
def test_the_span_of_nothing_is_small_against_a_loop() -> None:
    loop = partial(smt.chain, 1_000_000, 1)  # two milliseconds or so
    assert _span([partial(_nothing, 1)] * 2) < 0.02 * _span([loop] * 2)


def test_the_compiler_leaves_no_loop_out() -> None:
    short, long = (_span([partial(smt.chain, steps, 1)]) for steps in (100_000, 1_000_000))
    assert long > 5 * short
