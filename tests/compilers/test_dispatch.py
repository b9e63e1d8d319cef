"""Asking for operations: crossovers on made-up times, and loops that do what they say."""

from __future__ import annotations

import math

import pytest
import torch

from dlperf.compilers import dispatch
from dlperf.measurement import Measurement


def test_the_crossover_lies_between_the_sizes_where_the_time_doubles() -> None:
    times = {n: Measurement((1e-6 + n * 1e-9,)) for n in (1, 10, 100, 500, 2000, 10_000)}
    assert dispatch.crossover(times) == (500, 2000)
    assert dispatch.crossover({n: Measurement((1.0,)) for n in (1, 10)}) == (10, math.inf)
    with pytest.raises(ValueError, match="factor above 1"):
        dispatch.crossover(times, 1)


def test_every_rung_of_the_ladder_adds_one() -> None:
    results = {name: fn() for name, fn in dispatch.one_number().items() if "call" not in name}
    assert all(bool(value == 2) for value in results.values())
    assert results["PyTorch: add, recorded for a gradient"].requires_grad


def test_asking_from_python_is_part_of_having_it_done() -> None:
    asked, done = dispatch.add_in_python(10, 5, torch.device("cpu"))
    assert 0 < asked <= done
