"""A step predicted from its operators: against sums by hand, and against real operators whose cost is known."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
import torch

from dlperf import turns
from dlperf.measurement import FewSamplesWarning
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
    assert step.pairing_id == alone.pairing_id
    assert step == pytest.approx([0.03] * 3)
    assert prediction.typical(alone) == pytest.approx({("add", 0, 2**30): 0.01, ("mm", 1, 2**30): 0.02})


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that also tells how long timing everything has taken so far."""
    clock = Clock(monkeypatch)
    for module in (prediction, turns):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    monkeypatch.setattr(prediction, "alone", lambda op: float(bool(op.alone()())))
    return clock


def named(clock: Clock, name: str, weight: int, seconds: float) -> Operator:
    return Operator(name, 0, weight, alone=lambda: clock.takes(seconds, lambda: True))


def test_with_little_time_the_heaviest_operators_are_timed_and_the_others_named(running: Clock) -> None:
    ops = [named(running, "small", 1, 4), named(running, "large", 90, 4), named(running, "middle", 9, 4)]
    with pytest.warns(prediction.UntimedWarning, match="not timed alone: 1 of 3 calls with 1.0% of the work, of small"):
        step, alone = prediction.in_turn(running.takes(1), ops, "cpu", repeats=3, limit=36)
    assert [name for name, _, _ in alone[0]] == ["large", "middle"]  # a turn has 12 s, of which the step takes 3
    assert len(step) == len(alone) == 3
    assert all(each.keys() == alone[0].keys() for each in alone)
    assert prediction.by_phase(ops, prediction.typical(alone)) == {"": 2}
    reached = prediction.attained(ops, HERE, prediction.typical(alone))
    assert [name for name, share in reached.items() if math.isnan(share)] == ["small"]


def test_a_cell_that_has_little_left_gets_fewer_operators_and_turns(
    running: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prediction, "seconds_left", lambda: 2.0)
    ops = [named(running, "small", 1, 4), named(running, "large", 90, 4)]
    with pytest.warns(FewSamplesWarning, match="1 of 3 samples"), pytest.warns(prediction.UntimedWarning):
        step, alone = prediction.in_turn(running.takes(1), ops, "cpu", repeats=3)
    assert len(step) == 1
    assert [name for name, _, _ in alone[0]] == ["large"]
    assert capsys.readouterr().err == ""  # what a page's cells print is for its readers


def test_what_takes_long_tells_how_far_it_is(running: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    ops = [named(running, "large", 90, 12), named(running, "small", 1, 1)]
    prediction.in_turn(running.takes(1), ops, "cpu", repeats=2)
    told = capsys.readouterr().err.splitlines()
    assert told == ["1 of 2 kinds of call timed alone, 15 s", "1 of 2 kinds of call timed alone, 31 s"]


def test_an_operator_that_cannot_be_called_alone_is_left_out_with_the_reason(running: Clock) -> None:
    def fails() -> object:
        raise RuntimeError("the input is not positive-definite\nand more")

    ops = [Operator("cholesky", 0, 1, alone=lambda: fails), named(running, "add", 3, 1)]
    text = "of cholesky; cholesky cannot be called alone: the input is not positive-definite$"
    with pytest.warns(prediction.UntimedWarning, match=text):
        _, alone = prediction.in_turn(running.takes(1), ops, "cpu", repeats=2)
    assert [each.keys() for each in alone] == [{("add", 0, 3)}] * 2


def test_what_takes_much_and_has_no_formula_is_named_with_its_share(running: Clock) -> None:
    ops = [named(running, name, 90, 1) for name in ("_some_fused_layer", "add", "mm")]
    with pytest.warns(prediction.UncountedWarning) as said:
        prediction.in_turn(running.takes(1), ops, "cpu", repeats=2)
    assert [str(each.message) for each in said] == [
        "_some_fused_layer has no FLOP formula, and 33% of the operators' time: its FLOPs count as none"
    ]


def test_what_is_typical_of_turns_is_the_median_of_each_call() -> None:
    turns = [
        {("add", 0, 8): 3, ("mm", 1, 8): 1, ("mul", 0, 8): 1},
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


def test_a_phase_or_a_kind_without_a_timed_call_is_there_all_the_same() -> None:
    seconds = {prediction.call(PRODUCT): 2.002}
    assert prediction.by_phase(OPS, seconds) == {"forward": 2.002, "backward": 0, "update": 0}
    assert prediction.attained(OPS, HERE, seconds) == pytest.approx({"mm": 0.5, "add": math.nan}, nan_ok=True)


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
