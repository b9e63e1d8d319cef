"""The clock: what it counts, what it waits for, what it warns of."""

from __future__ import annotations

import itertools
import math
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dlperf import timing, turns
from dlperf.measurement import FewSamplesWarning, Measurement
from dlperf.timing import Benchmark, SpreadWarning, compare, measure
from tests.processes import DEADLINE_S


def test_benchmark_prints_what_textbook_readers_know(capsys: pytest.CaptureFixture[str]) -> None:
    with Benchmark("sleep") as clock:
        time.sleep(0.02)
    assert re.fullmatch(r"sleep: \d+\.\d{4} sec\n", capsys.readouterr().out)
    assert clock.seconds >= 0.02


def test_benchmark_says_nothing_of_a_block_that_raised(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), Benchmark("oops"):
        1 / 0  # noqa: B018
    assert capsys.readouterr().out == ""


def test_benchmark_waits_only_where_told(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[object] = []
    monkeypatch.setattr(timing, "synchronize", lambda *devices: waited.append(devices))
    with Benchmark("naive"):
        pass
    assert waited == []
    with Benchmark("right", sync="cpu"):
        pass
    assert waited == [("cpu",), ("cpu",)]


def test_a_sleep_is_measured_no_shorter_than_it_is() -> None:
    m = measure(lambda: time.sleep(0.005), "sleep", repeats=5, max_seconds=DEADLINE_S)
    assert m.unit == "s"
    assert min(m.samples) >= 0.005
    assert len(m.samples) == 5


class Clock:
    """The clock of measurements; only `passes` moves it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(timing, "clock", lambda device: lambda: self.now)
        monkeypatch.setattr(turns, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def passes(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_cheap_calls_are_measured_in_blocks(clock: Clock) -> None:
    m = measure(lambda: clock.passes(1e-6), repeats=3)
    assert m.calls_per_sample >= 100
    assert m.samples == pytest.approx((1e-6,) * 3)


def test_sides_are_taken_in_turn() -> None:
    order: list[str] = []

    def call(name: str) -> None:
        order.append(name)
        time.sleep(0.02)

    # Said to be the CPU's: a clock that waits for a GPU costs more, so that a sample would take many calls.
    both = compare({"a": lambda: call("a"), "b": lambda: call("b")}, repeats=4, device="cpu", max_seconds=DEADLINE_S)
    turn = [name for name in "ab" for _ in range(both[name].calls_per_sample)]
    assert order[-4 * len(turn) :] == turn * 4


def test_max_seconds_ends_after_the_turn_in_progress() -> None:
    both = compare({"a": lambda: time.sleep(0.02), "b": lambda: time.sleep(0.02)}, repeats=1000, max_seconds=0.3)
    assert len(both["a"].samples) == len(both["b"].samples) < 20


def test_the_clock_waits_for_the_device_it_is_told_and_for_all_when_told_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's own waits for the current one: 6 µs for a millisecond on another."""
    waited: list[object] = []
    monkeypatch.setattr(timing, "synchronize", lambda *devices: waited.extend(devices))
    monkeypatch.setattr(timing, "try_all_gpus", lambda: [torch.device("cuda", i) for i in range(3)])
    timing.clock("cuda:1")()
    assert waited == [torch.device("cuda", 1)]
    waited.clear()
    timing.clock()()
    assert waited == [torch.device("cuda", i) for i in range(3)]
    waited.clear()
    timing.clock("cpu")()
    assert waited == []


def test_a_measurement_waits_for_its_device_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[object] = []
    monkeypatch.setattr(timing, "synchronize", events.append)
    monkeypatch.setattr(timing, "environment", lambda device: {})
    m = measure(lambda: (events.append("call"), time.sleep(0.03)), repeats=2, device="cuda:1", max_seconds=DEADLINE_S)
    sample = [torch.device("cuda", 1), *["call"] * m.calls_per_sample, torch.device("cuda", 1)]
    assert events[-2 * len(sample) :] == sample * 2


def test_few_samples_are_warned_of() -> None:
    sleep = lambda: time.sleep(0.02)
    with pytest.warns(timing.FewSamplesWarning, match=r"a: [12] samples each, their time of 0\.03 s was used up"):
        compare({"a": sleep}, max_seconds=0.03)
    with warnings.catch_warnings():
        warnings.simplefilter("error", timing.FewSamplesWarning)
        compare({"a": sleep}, repeats=2, max_seconds=DEADLINE_S)  # as many as were asked for


@pytest.mark.parametrize(("left", "samples"), [(math.inf, 30), (2.5, 17), (0.5, 5), (0.0625, 3), (0.0, 1)])
def test_what_a_cell_has_left_shrinks_the_samples(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, left: float, samples: int
) -> None:
    """A tenth of it, or five samples, but for these at most half: of calls that take 1/64 s each."""
    monkeypatch.setattr(timing, "seconds_left", lambda: left)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = measure(lambda: clock.passes(1 / 64))
    assert m.samples == (1 / 64,) * samples


def test_a_wide_spread_is_warned_of() -> None:
    with pytest.warns(SpreadWarning, match="spreads widely"):
        timing._checked(Measurement((1.0, 1.0, 2.0, 2.0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        timing._checked(Measurement((1.0, 1.01, 1.02)))


@pytest.mark.parametrize("called", [compare, measure])
def test_a_warning_names_the_line_that_measured(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, called: Callable[..., Any]
) -> None:
    """Whatever frames lie between, of which Python 3.12 has fewer."""
    monkeypatch.setattr(timing, "seconds_left", lambda: 0.5)
    seconds = itertools.cycle((1 / 64, 1 / 8))
    work = lambda: clock.passes(next(seconds))
    with pytest.warns((SpreadWarning, FewSamplesWarning)) as warned:
        called({"work": work} if called is compare else work)
    assert {Path(each.filename).name for each in warned} == {"test_timing.py"}


def test_threads_are_set_while_measuring_and_put_back() -> None:
    before = torch.get_num_threads()
    seen: list[int] = []
    m = measure(lambda: seen.append(torch.get_num_threads()), repeats=2, num_threads=1)
    assert set(seen[-2:]) == {1}
    assert torch.get_num_threads() == before
    assert m.environment["threads"] == 1


def test_what_cannot_be_called_is_named() -> None:
    with pytest.raises(TypeError, match="got Tensor; wrap it in a lambda"):
        measure(torch.ones(1))  # type: ignore[arg-type]
