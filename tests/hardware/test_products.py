"""The products of a step's variants, each timed alone by a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch

from dlperf.hardware import products


def step(batch: int, *widths: int) -> Callable[[], torch.Tensor]:
    """Returns a step of as many products as there are ``widths`` but one, each followed by a ReLU."""
    x = torch.ones(batch, widths[0])
    weights = [torch.ones(a, b) for a, b in pairwise(widths)]

    def run() -> torch.Tensor:
        y = x
        for w in weights:
            y = (y @ w).relu()
        return y

    return run


class Clock:
    """A clock that is a second later each time it is read; it counts how often it was."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self) -> float:
        self.read += 1
        return float(self.read)


def test_every_product_counts_and_nothing_else_does() -> None:
    variants = {"one": step(2, 3, 4, 5, 6), "two": step(4, 3, 4, 5, 6)}
    found = products.in_turn(variants, "cpu", repeats=3, now=Clock())
    assert {name: m.samples for name, m in found.items()} == {"one": (3, 3, 3), "two": (3, 3, 3)}
    assert (found["one"] / found["two"]).samples == (1, 1, 1)  # they were taken in turn
    assert found["one"].unit == "s"


def test_products_of_the_same_sizes_are_timed_once() -> None:
    now = Clock()
    variants = {"one": step(2, 4, 4, 4, 4), "two": step(2, 4, 4, 4, 4)}
    found = products.in_turn(variants, "cpu", repeats=5, now=now)
    assert found["one"].samples == (3,) * 5
    assert now.read == 2 * 2 * (1 + 5)  # two readings for each of both variants, in a turn that warms up and five


def test_variants_have_equally_many_products() -> None:
    with pytest.raises(ValueError, match=r"equally many products each, got \{'one': 1, 'two': 2\}"):
        products.in_turn({"one": step(2, 3, 4), "two": step(2, 3, 4, 5)}, "cpu")
