"""The timeline: sums of intervals by hand, and a real trace whose operators are known."""

import matplotlib.pyplot as plt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dlperf.measuring import timeline
from dlperf.measuring.timeline import Interval


def spans(*pairs, lane="kernel"):
    return [Interval("x", start, end, lane) for start, end in pairs]


def test_covered_counts_overlaps_once():
    assert timeline.covered(spans((0, 2), (1, 3), (5, 6), (5.2, 5.4))) == pytest.approx(4)
    assert timeline.covered([]) == 0


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(sorted), max_size=12))
def test_covered_equals_counting_unit_cells(pairs):
    cells = {cell for start, end in pairs for cell in range(start, end)}
    assert timeline.covered(spans(*pairs)) == len(cells)


def test_shares_by_hand():
    parts = [
        *spans((0, 10), lane="phase"),
        *spans((1, 5), (6, 7), lane="operator"),
        *spans((2, 4), lane="kernel"),
    ]
    assert timeline.shares(parts) == pytest.approx({"kernel": 0.2, "dispatch": 0.3, "gap": 0.5})


def test_a_kernel_outside_every_operator_counts_as_kernel():
    parts = [*spans((0, 10), lane="phase"), *spans((0, 1), lane="operator"), *spans((1, 9), lane="kernel")]
    assert timeline.shares(parts) == pytest.approx({"kernel": 0.8, "dispatch": 0.1, "gap": 0.1})


@pytest.mark.parametrize("name", ["aten::addmm", "aten::mm", "aten::relu", "aten::copy_", "aten::add_", "aten::sum"])
def test_operators_that_compute(name):
    assert timeline.computes(name)


@pytest.mark.parametrize("name", ["aten::linear", "aten::t", "aten::as_strided", "aten::empty", "aten::view", "step"])
def test_operators_that_only_arrange(name):
    assert not timeline.computes(name)


@pytest.fixture(scope="module")
def traced():
    times, steps = timeline.traces(timeline.small_step("cpu", batch=4, width=8), "cpu", steps=3, warm_up=2)
    assert len(times) == len(steps) == 3
    assert all(timeline.seconds(step) < seconds for seconds, step in zip(times, steps, strict=True))
    return timeline.typical(steps)


def test_trace_has_the_phases_in_order(traced):
    assert tuple(p.name for p in traced if p.lane == "phase") == timeline.PHASES


def test_trace_has_the_matrix_products_of_the_network(traced):
    kernels = [p.name for p in traced if p.lane == "kernel"]
    assert kernels.count("aten::addmm") == 3  # three layers forward
    assert kernels.count("aten::mm") == 5  # backward: a product for each weight, and for each input but the first


def test_typical_is_the_step_of_median_length():
    short, middle, long = spans((0, 1)), spans((5, 7), (6, 8)), spans((0, 9))
    assert timeline.typical([long, short, middle]) is middle
    assert timeline.seconds(middle) == 3


def test_traced_and_plain_steps_are_taken_in_turn():
    traced, plain, steps = timeline.traced_and_plain(timeline.small_step("cpu", batch=4, width=8), "cpu", rounds=2)
    assert len((traced / plain).samples) == 2
    assert len(steps) == 10  # five a round


def test_trace_lanes_nest(traced):
    operators = [p for p in traced if p.lane == "operator"]
    for kernel in (p for p in traced if p.lane == "kernel"):
        assert any(o.start <= kernel.start and kernel.end <= o.end for o in operators)


PAIRS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(sorted), max_size=6)


@given(PAIRS, PAIRS)
def test_shares_are_those_of_unit_cells(operators, kernels):
    parts = [*spans((0, 50), lane="phase"), *spans(*operators, lane="operator"), *spans(*kernels, lane="kernel")]
    asked, ran = ({cell for start, end in pairs for cell in range(start, end)} for pairs in (operators, kernels))
    expected = {"kernel": len(ran), "dispatch": len(asked - ran), "gap": 50 - len(asked | ran)}
    assert timeline.shares(parts) == pytest.approx({name: cells / 50 for name, cells in expected.items()})


def test_step_lowers_the_loss():
    step = timeline.small_step("cpu", batch=16, width=16)
    losses = []

    def watch(loss, *_):
        losses.append(loss.item())

    original = torch.Tensor.backward
    torch.Tensor.backward = lambda self, *a, **k: (watch(self), original(self, *a, **k))[1]
    try:
        for _ in range(30):
            step()
    finally:
        torch.Tensor.backward = original
    assert losses[-1] < losses[0]


def test_draw_puts_each_lane_on_its_row(traced):
    _, axes = plt.subplots()
    timeline.draw(axes, traced, ["#111111", "#222222", "#333333"])
    assert [t.get_text() for t in axes.get_yticklabels()] == ["kernel", "operator", "phase"]
    assert [t.get_text() for t in axes.texts] == list(timeline.PHASES)
    plt.close("all")
