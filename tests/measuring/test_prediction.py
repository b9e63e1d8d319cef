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


def test_calls_of_one_name_and_size_are_timed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "cache_bytes", lambda: 0)
    asked = []
    large, again, small = (
        Operator("add", 0, moved, alone=lambda moved=moved: asked.append(moved) or asleep(0.01)())
        for moved in (8, 8, 4)
    )
    found = prediction.each_alone([large, again, small])
    assert found.keys() == {("add", 0, 8), ("add", 0, 4)}
    assert all(0.01 <= seconds < 0.1 for seconds in found.values())
    assert sorted(asked) == [4, 8]


def test_a_step_and_its_operators_take_turns() -> None:
    ops = [Operator("add", 0, 2**30, alone=asleep(0.01)), Operator("mm", 1, 2**30, alone=asleep(0.02))]
    step, alone = prediction.in_turn(lambda: time.sleep(0.03), ops, "cpu", repeats=3)
    assert step.mark == alone.mark
    assert len(step) == 3
    assert all(0.03 <= seconds < 0.3 for seconds in step)
    assert 0.01 <= prediction.typical(alone)["add", 0, 2**30] < 0.1
    assert 0.02 <= prediction.typical(alone)["mm", 1, 2**30] < 0.2


def test_what_is_typical_of_turns_is_the_median_of_each_call() -> None:
    turns = [
        {("add", 0, 8): 3, ("mm", 1, 8): 1},
        {("add", 0, 8): 1, ("mm", 1, 8): 2},
        {("add", 0, 8): 2, ("mm", 1, 8): 9},
    ]
    assert prediction.typical(turns) == {("add", 0, 8): 2, ("mm", 1, 8): 2}


def test_calls_take_turns_at_copies_that_fill_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "cache_bytes", lambda: 100)
    made, called = [], []

    def alone() -> Callable[[], object]:
        made.append(number := len(made))
        return lambda: called.append(number)

    prediction.alone(Operator("add", 0, 30, alone=alone))
    assert made == list(range(7))  # each call reads and writes 30 bytes, which may be the same 15
    assert called[:9] == [*range(7), 0, 1]


def test_a_kind_reaches_the_share_that_all_its_calls_reach_together() -> None:
    seconds = {prediction.call(PRODUCT): 2.002, prediction.call(SUM): 1.001, prediction.call(SMALL): 0.001001}
    found = prediction.attained(OPS, HERE, seconds)
    assert found == {"mm": pytest.approx(0.5), "add": pytest.approx(1)}


def test_what_is_timed_alone_takes_its_time() -> None:
    """So sleeping takes what it takes, and a product by itself as long as any such product."""
    assert prediction.alone(Operator("sleep", 0, 0, alone=asleep(0.02))) == pytest.approx(0.03, abs=0.01)
    x = torch.randn(256, 256)
    [op] = operators(lambda: x @ x)
    start = time.perf_counter()
    for _ in range(20):
        x @ x
    in_a_row = (time.perf_counter() - start) / 20
    assert in_a_row / 10 < prediction.alone(op) < 10 * in_a_row


def test_phases_sum_what_each_operator_takes() -> None:
    seconds = {prediction.call(PRODUCT): 2, prediction.call(SUM): 1, prediction.call(SMALL): 0.5}
    assert prediction.by_phase([*OPS, SMALL], seconds) == {"forward": 2, "backward": 1, "update": 1}


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
