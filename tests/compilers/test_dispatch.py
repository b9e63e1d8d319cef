"""Asking for operations: crossovers on made-up times, and loops that do what they say."""

from __future__ import annotations

import math

import pytest
import torch

from dlperf.compilers import dispatch
from dlperf.measurement import Measurement


def test_the_crossover_lies_where_the_time_has_doubled() -> None:
    times = {n: Measurement((1e-6 + n * 1e-9,)) for n in (1, 10, 100, 1000, 10_000)}
    assert dispatch.crossover(times) == pytest.approx(1000, rel=0.02)
    assert dispatch.crossover({n: Measurement((1.0,)) for n in (1, 10)}) == math.inf


def test_between_two_sizes_the_line_is_straight_in_logarithms() -> None:
    times = {1: Measurement((1.0,)), 10_000: Measurement((4.0,))}
    assert dispatch.crossover(times) == pytest.approx(100)


def test_every_rung_of_the_ladder_adds_one() -> None:
    results = {name: fn() for name, fn in dispatch.one_number().items() if "add" in name}
    assert all(bool(value == 2) for value in results.values())
    assert results["PyTorch: add, recorded for a gradient"].requires_grad


def test_asking_from_python_is_part_of_having_it_done() -> None:
    asked, done = dispatch.add_in_python(10, 5, torch.device("cpu"))
    assert 0 < asked <= done
