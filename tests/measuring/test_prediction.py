"""A step predicted from its operators: against sums by hand, and against real operators whose cost is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
import torch

from dlperf.measuring import pitfalls, prediction
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
    assert all(seconds >= 0.01 for seconds in found.values())
    assert sorted(asked) == [4, 8]


class Clock:
    """A clock that stands still but for what is said to take time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(prediction, "clock", lambda: lambda: self.now)
        monkeypatch.setattr(pitfalls, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def takes(self, seconds: float, fn: Callable[[], object] = lambda: None) -> Callable[[], object]:
        """Returns a call that does what ``fn`` does, and takes so many seconds."""

        def call() -> object:
            self.now += seconds
            return fn()

        return call


def test_a_step_and_its_operators_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    ops = [
        Operator("add", 0, 2**30, alone=lambda: clock.takes(0.01)),
        Operator("mm", 1, 2**30, alone=lambda: clock.takes(0.02)),
    ]
    step, alone = prediction.in_turn(clock.takes(0.03), ops, "cpu", repeats=3)
    assert step.mark == alone.mark
    assert step == pytest.approx([0.03] * 3)
    assert prediction.typical(alone) == pytest.approx({("add", 0, 2**30): 0.01, ("mm", 1, 2**30): 0.02})


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

    prediction.alone(Operator("add", 0, 90, alone=alone, given=30))
    assert made == list(range(14))  # copies of what is given, however often it is read and written
    assert called[:16] == [*range(14), 0, 1]


def test_a_change_in_place_fills_the_cache_four_times(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(1000)
    [op] = operators(lambda: x.mul_(2))
    monkeypatch.setattr(prediction, "cache_bytes", lambda: 8000)
    made: list[object] = []
    prediction.uncached(replace(op, alone=lambda: made.append(op.alone()) or made[-1]))
    assert op.given == 4000
    assert op.bytes == 8000
    assert len(made) * op.given >= 4 * 8000


def test_a_kind_reaches_the_share_that_all_its_calls_reach_together() -> None:
    seconds = {prediction.call(PRODUCT): 2.002, prediction.call(SUM): 1.001, prediction.call(SMALL): 0.001001}
    found = prediction.attained(OPS, HERE, seconds)
    assert found == {"mm": pytest.approx(0.5), "add": pytest.approx(1)}


def test_what_is_timed_alone_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """So sleeping takes what it takes, and a product what a clock that nothing else moves says of each call."""
    assert prediction.alone(Operator("sleep", 0, 0, alone=asleep(0.02))) >= 0.02
    x = torch.randn(256, 256)
    [op] = operators(lambda: x @ x)
    clock = Clock(monkeypatch)
    shapes: list[torch.Size] = []

    def alone() -> Callable[[], object]:
        product = op.alone()
        return clock.takes(0.003, lambda: shapes.append(product().shape))

    assert prediction.alone(replace(op, alone=alone)) == pytest.approx(0.003)
    assert set(shapes) == {x.shape}


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
