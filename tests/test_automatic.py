"""The program of independent branches: all schedulers compute the same, and a trace tells who ran when."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dlperf import automatic
from dlperf.automatic import program, xla
from dlperf.engine import Engine

SPANS = st.lists(
    st.builds(
        lambda branch, start, length: program.Span("op", "thread", branch, start, start + length),
        st.integers(0, 3),
        st.integers(0, 20),
        st.integers(0, 6),
    ),
    max_size=12,
)


@given(SPANS)
def test_overlapped_counts_the_seconds_of_more_than_one_branch(trace: list[program.Span]) -> None:
    running = [{s.branch for s in trace if s.start <= t < s.end} for t in range(30)]
    assert automatic.overlapped(trace) == sum(len(branches) > 1 for branches in running)


def expected(width: int) -> list[str]:
    """Returns the digests that integer arithmetic gives."""
    digests = []
    for values in program.numbers(width):
        x = values.numpy().astype(np.int64)
        for _ in range(program.STEPS):
            x = np.sort((509 * x + 7) % 2**14)
        digests.append(program.digest(x.astype(np.float32)))
    return digests


def test_pytorch_runs_one_line_after_the_other() -> None:
    threads = torch.get_num_threads()
    seen = automatic.in_pytorch(repeats=1)
    assert torch.get_num_threads() == threads
    assert seen.digests == expected(2)
    assert automatic.share(seen.trace) == 0
    assert [s.branch for s in seen.trace if s.name == "aten::sort"] == [0] * program.STEPS + [1] * program.STEPS


@pytest.mark.parametrize("devices", [["cpu:0"], ["cpu:0", "cpu:1"]])
def test_the_engine_has_an_operation_for_each_step(devices: list[str]) -> None:
    with Engine(devices) as engine:
        seen = automatic.in_engine(engine, repeats=1)
    assert seen.digests == expected(2)
    assert len(seen.trace) == 2 * 2 * program.STEPS
    if len(devices) == 1:
        assert automatic.overlapped(seen.trace) == 0


def test_the_ratio_is_to_all_branches_one_after_the_other() -> None:
    m = program.Measurement
    seen = program.Seen(m((1.0, 2.0)), m((2.0, 4.0)), m((2.0, 2.0), "1"), [], ["a", "b", "c", "d"])
    assert seen.ratio.samples == (0.5, 0.5)


@pytest.mark.skipif(find_spec("jax") is None, reason="needs JAX")
@pytest.mark.parametrize("width", [2, 16])
def test_xla_computes_the_same_and_its_trace_knows_the_branches(width: int) -> None:
    seen = automatic.in_xla(width, repeats=1)
    assert seen is not None
    assert seen.digests == expected(width)
    assert {s.branch for s in seen.trace} == set(range(width))
    assert sum(s.name.startswith("sort") for s in seen.trace) >= width * program.STEPS


def test_without_jax_xla_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xla, "find_spec", lambda name: None)
    assert automatic.in_xla() is None
