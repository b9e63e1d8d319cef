"""What processes do to try a strategy, on two of them; and the figures made of it, on made-up traces."""

from __future__ import annotations

import math

import pytest
import torch

from dlperf.measurement import Measurement
from dlperf.multigpu import split_costs, split_steps, split_trials, traffic
from dlperf.multigpu.group import Crew, Group
from dlperf.multigpu.split_steps import Trace
from dlperf.multigpu.splits import Case, Sizes, Strategy, join
from dlperf.records import bundle
from tests.multigpu import splitting

SMALL = Sizes(rows=64, width=1000, hidden=60, dtype=torch.float64)
CASES = split_trials.two_layers(SMALL, (1, 4))


@pytest.fixture(scope="module")
def two():
    with Group(2) as group:
        yield Crew(group.run, "core")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_what_processes_try_finds_what_autograd_finds(two, case):
    for a, b in zip(join(case.strategy, two.run(split_steps.gradients, case)), splitting.oracle(SMALL), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_a_device_has_as_much_memory_as_predicted(two, case):
    most = max(two.run(split_steps.peak, case))
    assert most == pytest.approx(split_costs.predicted_memory(case), rel=0.01)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_a_trace_has_its_waits_in_order_within_the_step(two, case):
    for rank, trace in enumerate(two.run(split_steps.step, case)):
        edges = [trace.begin, *(edge for span in trace.waits for edge in span), trace.end]
        assert edges == sorted(edges)
        m = case.micro_batches  # each is waited for when it comes, and when it has been sent
        assert len(trace.waits) == (2 * m if case.strategy is Strategy.NETWORK else 2), rank
        assert trace.sent == 0


def test_errors_are_those_of_rounding(two):
    double = split_trials.gradient_errors(two, SMALL)
    single = split_trials.gradient_errors(two, Sizes(64, 1000, 60))
    assert set(double) == {"data-error", "layer-error", "network-error"}
    assert max(double.values()) < 1e-13 < 1e-9 < min(single.values()) <= max(single.values()) < 1e-4


def test_cases_that_take_turns_give_measurements_that_can_be_recorded(two):
    found = split_trials.compare(two, CASES, repeats=2)
    assert {len(value.samples) for value in found.values() if isinstance(value, Measurement)} == {2}
    assert "layer-bytes" not in found  # nothing counts them between processes of one machine
    recordable(found)


def recordable(found):
    for key, value in found.items():
        assert bundle(f"multigpu.{key}", value)
        assert math.isfinite(value.median if isinstance(value, Measurement) else value)


def made_up(*traces):
    """Returns a crew whose hosts have these traces in every step, and as much memory as predicted, or less."""

    def run(fn, case, *_):
        memory = split_costs.predicted_memory(case)
        return list(traces) if fn is split_steps.step else [memory, memory / 2]

    return Crew(run, "host")


def test_figures_are_those_of_made_up_traces():
    case = Case(Strategy.NETWORK, SMALL, 4)
    sent = traffic.on_wire(64 * 60 * 8)
    crew = made_up(Trace(10, 13, [(11, 12)], int(sent)), Trace(11, 14, [(11, 11.5)], 5))
    found = split_trials.compare(crew, [case], repeats=3)
    assert found["network-4-step"].samples == (4, 4, 4)
    assert found["network-4-waiting"].median == pytest.approx(1 - (2 + 2.5) / 8)
    assert found["network-4-bytes-ratio"].median == pytest.approx(1, rel=1e-3)
    assert found["network-4-memory-ratio"] == 1
    assert found["network-4-computing"].median == pytest.approx((2 + 2.5) / 2)
    assert found["bubble-4"] is found["network-4-waiting"]
    assert found["bubble-4-predicted"] == pytest.approx(1 / 5)


@pytest.mark.parametrize(
    "traces",
    [
        [Trace(1, 1, []), Trace(1, 1, [])],
        [Trace(2, 1, [(1.5, 1.2)]), Trace(2, 1, [])],
        [Trace(0, 1, [(0.5, 9.0)]), Trace(0, 1, [(-3.0, 2.0)])],
    ],
    ids=["no time", "backwards", "outside"],
)
def test_whatever_the_clocks_say_can_be_recorded(traces):
    found = split_trials.compare(made_up(*traces), CASES, repeats=2)
    assert all(0 <= share <= 1 for key in found if key.endswith("-waiting") for share in found[key].samples)
    recordable(found)


def test_the_peak_counts_what_is_there_at_once_and_shared_memory_once():
    assert splitting.peak_of_two(3) == pytest.approx((1 + 2 * 3) * 2**20, rel=1e-4)  # and a few scalars
