"""The clock: what it counts, what it waits for, what it warns of."""

from __future__ import annotations

import os
import re
import time
import warnings
from pathlib import Path

import pytest
import torch

from dlperf import timing
from dlperf.environment import _quota, cache_bytes, environment, places
from dlperf.measurement import Measurement
from dlperf.timing import Benchmark, SpreadWarning, compare, measure


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
    m = measure(lambda: time.sleep(0.005), "sleep", repeats=5)
    assert m.unit == "s"
    assert min(m.samples) >= 0.005
    assert len(m.samples) == 5


def test_cheap_calls_are_measured_in_blocks() -> None:
    assert measure(lambda: None, repeats=3).calls_per_sample >= 100


def test_sides_are_taken_in_turn() -> None:
    order: list[str] = []

    def call(name: str) -> None:
        order.append(name)
        time.sleep(0.02)

    # Said to be the CPU's: a clock that waits for a GPU costs more, so that a sample would take several calls.
    compare({"a": lambda: call("a"), "b": lambda: call("b")}, repeats=4, device="cpu")
    assert order[-8:] == ["a", "b"] * 4


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
    m = measure(lambda: (events.append("call"), time.sleep(0.03)), repeats=2, device="cuda:1")
    sample = [torch.device("cuda", 1), *["call"] * m.calls_per_sample, torch.device("cuda", 1)]
    assert events[-2 * len(sample) :] == sample * 2


def test_few_samples_are_warned_of() -> None:
    sleep = lambda: time.sleep(0.02)
    with pytest.warns(timing.FewSamplesWarning, match=r"a: 2 samples each, their time of 0\.03 s was used up"):
        compare({"a": sleep}, max_seconds=0.03)
    with warnings.catch_warnings():
        warnings.simplefilter("error", timing.FewSamplesWarning)
        compare({"a": sleep}, repeats=2)  # as many as were asked for


@pytest.mark.parametrize(("left", "fewest", "most"), [(2.0, 5, 15), (0.5, 5, 5), (0.06, 1, 2), (0.0, 1, 1)])
def test_what_a_cell_has_left_shrinks_the_samples(
    monkeypatch: pytest.MonkeyPatch, left: float, fewest: int, most: int
) -> None:
    """A tenth of it, or five samples, but for these at most half."""
    monkeypatch.setattr(timing, "seconds_left", lambda: left)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = measure(lambda: time.sleep(0.02), device="cpu")
    assert fewest <= len(m.samples) <= most


def test_a_wide_spread_is_warned_of() -> None:
    with pytest.warns(SpreadWarning, match="spreads widely"):
        timing._checked(Measurement((1.0, 1.0, 2.0, 2.0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        timing._checked(Measurement((1.0, 1.01, 1.02)))


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


@pytest.mark.parametrize(
    ("limit", "cores"), [("150000 100000", 2), ("50000 100000", 1), ("max 100000", None), ("", None)]
)
def test_a_quota_counts_as_cores(tmp_path: Path, limit: str, cores: int | None) -> None:
    assert _quota(tmp_path) is None
    (tmp_path / "cpu.max").write_text(limit)
    assert _quota(tmp_path) == cores


@pytest.mark.parametrize(("limit", "cores"), [("250000", 3), ("-1", None)])
def test_a_quota_of_the_older_kind_counts_too(tmp_path: Path, limit: str, cores: int | None) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text(limit)
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000")
    assert _quota(tmp_path) == cores


def test_cache_bytes_adds_up_the_last_level_and_counts_a_shared_cache_once(tmp_path: Path) -> None:
    for core in range(4):
        for level, size, sharers in ((1, "32K", str(core)), (3, "1024K", "0-1" if core < 2 else "2-3")):
            index = tmp_path / f"cpu{core}/cache/index{level}"
            index.mkdir(parents=True)
            for name, value in {"level": level, "size": size, "shared_cpu_list": sharers}.items():
                (index / name).write_text(f"{value}\n")
    assert cache_bytes(tmp_path) == 2 * 2**20
    assert cache_bytes(tmp_path / "nothing") == 0


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not pin")
def test_places_take_the_second_thread_of_a_core_last(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}
    told = lambda path, **_: threads[int(path.parts[5].removeprefix("cpu"))] + "\n"
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(threads))
    monkeypatch.setattr(Path, "read_text", told)
    assert places() == [0, 1, 2, 3]
    threads.update({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"})
    assert places() == [0, 2, 1, 3]


def test_environment_tells_the_threads_of_this_moment() -> None:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        assert environment()["threads"] == threads + 1
    finally:
        torch.set_num_threads(threads)


def test_environment_says_what_and_when() -> None:
    here = environment()
    assert here["torch"] == torch.__version__
    assert int(str(here["cores"])) >= 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(here["date"]))
