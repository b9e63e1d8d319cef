"""A step predicted from its operators: against sums by hand, and against real operators whose cost is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import matplotlib.pyplot as plt
import pytest
import torch

from dlperf.measuring import prediction
from dlperf.measuring.model import Machine
from dlperf.models.cost import Operator, operators

HERE = Machine(peak=1e9, bandwidth=1e8, overhead=1e-3)
PRODUCT = Operator("mm", 10**9, 10**6, "forward", "blocks.0")  # 1 s, of compute
SUM = Operator("add", 0, 10**8, "backward", "blocks.0")  # 1 s, of memory
SMALL = Operator("add", 0, 100, "update")  # a millisecond, of overhead
OPS = [PRODUCT, SUM, SMALL]


def asleep(seconds: float) -> Callable[[], Callable[[], object]]:
    return lambda: partial(time.sleep, seconds)


def test_the_largest_call_of_each_kind_tells_its_share_of_the_roof() -> None:
    machine = Machine(peak=1e12, bandwidth=1e12, overhead=0.001)
    large, small = Operator("add", 0, 4 * 10**9, alone=asleep(0.01)), Operator("add", 0, 1, alone=asleep(0.5))
    found = prediction.attained([small, large, small], machine)
    assert found == {"add": pytest.approx(4 / 9, rel=0.1)}  # 4 ms at the roof, took 10, of which 1 is the asking
    assert prediction.taken(large, machine, found["add"]) == pytest.approx(0.01, rel=0.1)
    nothing = Operator("empty", 0, 0, alone=asleep(0.001))
    assert prediction.taken(nothing, machine, prediction.attained([nothing], machine)["empty"]) == machine.overhead


def test_what_is_timed_alone_takes_its_time() -> None:
    """So sleeping takes what it takes, and a product by itself as long as any such product."""
    assert prediction.alone(Operator("sleep", 0, 0, alone=asleep(0.02))) == pytest.approx(0.02, rel=0.1)
    x = torch.randn(256, 256)
    [op] = operators(lambda: x @ x)
    start = time.perf_counter()
    for _ in range(20):
        x @ x
    in_a_row = (time.perf_counter() - start) / 20
    assert in_a_row / 10 < prediction.alone(op) < 10 * in_a_row


def test_phases_sum_what_each_kind_takes() -> None:
    phases = prediction.by_phase(OPS, HERE, {"mm": 0.5, "add": 1})
    assert phases == pytest.approx({"forward": 2.001, "backward": 1.001, "update": 0.001001})


def test_regimes_share_the_predicted_time() -> None:
    shares = prediction.by_regime(OPS, HERE)
    expected = {"compute": 1.001 / 2.003, "memory": 1.001 / 2.003, "overhead": 0.001 / 2.003}
    assert shares == pytest.approx(expected, rel=1e-3)


def test_the_picture_has_a_bar_for_each_layer_and_ends_with_the_update() -> None:
    _, axes = plt.subplots()
    prediction.draw_regimes(axes, OPS, HERE)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["blocks.0", "rest", "update"]
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(2003, rel=1e-3)
    plt.close("all")
