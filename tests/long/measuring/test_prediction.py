"""An operator timed alone takes about what it takes in a row."""

from __future__ import annotations

import time
from statistics import median

import torch

from dlperf.measuring import prediction
from dlperf.models.cost import operators


def test_a_product_alone_takes_about_as_long_as_in_a_row() -> None:
    x = torch.randn(256, 256)
    [op] = operators(lambda: x @ x)
    taken = []
    for _ in range(50):
        start = time.perf_counter()
        x @ x
        taken.append(time.perf_counter() - start)
    assert median(taken) / 10 < prediction.alone(op) < 10 * median(taken)
