"""The program of independent branches: all schedulers compute the same, and a trace tells who ran when."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dlperf.asynchrony.engine import Engine
from dlperf.parallel import automatic
from dlperf.parallel.automatic import program, runs, xla
from tests.processes import DEADLINE_S

SPANS = st.lists(
    st.builds(
        lambda thread, start, length: program.Span("op", str(thread), 0, start, start + length),
        st.integers(0, 3),
        st.integers(0, 20),
        st.integers(0, 6),
    ),
    max_size=12,
)


@given(SPANS)
def test_overlapped_counts_the_seconds_of_more_than_one_operation(trace: list[program.Span]) -> None:
    running = [{s.thread for s in trace if s.start <= t < s.end} for t in range(30)]
    assert automatic.overlapped(trace) == sum(len(threads) > 1 for threads in running)


@dataclass
class Event:
    """What `spans` reads of an event of PyTorch's profiler."""

    name: str
    thread: int
    time_range: SimpleNamespace
    cpu_parent: Event | None = None


def event(name: str, thread: int, start: float, end: float, parent: Event | None = None) -> Event:
    return Event(name, thread, SimpleNamespace(start=start, end=end), parent)


def test_a_trace_of_two_threads_shows_all_that_overlaps() -> None:
    both = [event("aten::sort", thread, i, i + 1) for thread in (1, 2) for i in range(program.STEPS)]
    assert automatic.share(runs.spans(both)) == 1
    later = [event(e.name, e.thread, e.time_range.start + program.STEPS * (e.thread - 1), 0) for e in both]
    for e in later:
        e.time_range.end = e.time_range.start + 1
    found = runs.spans(later)
    assert automatic.share(found) == 0
    assert [s.branch for s in found] == [0] * program.STEPS + [1] * program.STEPS


def test_what_an_operator_calls_is_part_of_it() -> None:
    call = event("Call", 1, 0, 9)
    sort = event("aten::sort", 1, 2, 8, call)
    parts = [call, event("graph_0_cpp_fused_add_0", 1, 0, 1, call), sort, event("aten::copy_", 1, 3, 4, sort)]
    assert [s.name for s in runs.spans(parts)] == ["graph_0_cpp_fused_add_0", "aten::sort"]


def test_the_profiler_sees_every_thread() -> None:
    """Each sorts five times, while the other is there."""
    x, meet = torch.randn(1000), threading.Barrier(2, timeout=DEADLINE_S)

    def sorts() -> None:
        meet.wait()
        for _ in range(5):
            torch.sort(x)
        meet.wait()

    with runs.profiler() as recorded:
        helper = threading.Thread(target=sorts)
        helper.start()
        sorts()
        helper.join()
    trace = [s for s in runs.spans(recorded.events()) if s.name == "aten::sort"]
    assert sorted(Counter(s.thread for s in trace).values()) == [5, 5]


def test_pytorch_runs_one_line_after_the_other() -> None:
    threads = torch.get_num_threads()
    seen = automatic.in_pytorch(repeats=1)
    assert torch.get_num_threads() == threads
    assert seen.digests == program.expected(2)
    assert automatic.share(seen.trace) == 0
    assert [s.branch for s in seen.trace if s.name == "aten::sort"] == [0] * program.STEPS + [1] * program.STEPS


@pytest.mark.parametrize("devices", [["cpu:0"], ["cpu:0", "cpu:1"]])
def test_the_engine_has_an_operation_for_each_step(devices: list[str]) -> None:
    with Engine(devices) as engine:
        seen = automatic.in_engine(engine, repeats=1)
    assert seen.digests == program.expected(2)
    assert len(seen.trace) == 2 * 2 * program.STEPS
    if len(devices) == 1:
        assert automatic.overlapped(seen.trace) == 0


def test_the_ratio_is_to_all_branches_one_after_the_other() -> None:
    m = program.Measurement
    alone, together = (m(seconds, pairing_id="t") for seconds in ((1.0, 2.0), (2.0, 4.0)))
    seen = program.Seen(alone, together, m((2.0, 2.0), "1"), [], ["a", "b", "c", "d"])
    assert seen.ratio.samples == (0.5, 0.5)


def test_without_jax_xla_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xla, "find_spec", lambda name: None)
    assert automatic.in_xla() is None
