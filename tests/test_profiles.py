"""Profiles: a real trace whose phases, operators and kernels are known."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from dlperf import profiles
from dlperf.models.training import training_step
from dlperf.profiles import Interval


def perceptron(batch: int = 4, width: int = 8) -> partial:
    layers = [torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(width, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return partial(training_step, net, optimizer, torch.randn(batch, 64), torch.randint(10, (batch,)))


def spans(*pairs, lane="kernel"):
    return [Interval("x", start, end, lane) for start, end in pairs]


@pytest.mark.parametrize("name", ["aten::addmm", "aten::mm", "aten::relu", "aten::copy_", "aten::add_", "aten::sum"])
def test_operators_that_compute(name):
    assert profiles.computes(name)


@pytest.mark.parametrize("name", ["aten::linear", "aten::t", "aten::as_strided", "aten::empty", "aten::view", "step"])
def test_operators_that_only_arrange(name):
    assert not profiles.computes(name)


@pytest.fixture(scope="module")
def traced():
    steps = profiles.traces(perceptron(), "cpu", steps=3, warm_up=2)
    assert len(steps) == 3
    return profiles.typical(steps)


def test_a_trace_is_one_step_with_its_phases_in_order(traced):
    assert [p.name for p in traced if p.lane == "step"] == [profiles.STEP]
    assert tuple(p.name for p in traced if p.lane == "phase") == profiles.PHASES[1:]


def test_a_trace_has_the_matrix_products_of_the_network(traced):
    kernels = [p.name for p in traced if p.lane == "kernel"]
    assert kernels.count("aten::addmm") == 3  # three layers forward
    assert kernels.count("aten::mm") == 5  # backward: a product for each weight, and for each input but the first


def test_kernels_lie_in_operators_and_all_in_the_step(traced):
    [whole] = [p for p in traced if p.lane == "step"]
    assert all(whole.start <= p.start and p.end <= whole.end for p in traced)
    operators = [p for p in traced if p.lane == "operator"]
    for kernel in (p for p in traced if p.lane == "kernel"):
        assert any(o.start <= kernel.start and kernel.end <= o.end for o in operators)


def test_the_loading_of_a_batch_is_a_phase():
    step, batches = perceptron(), iter(DataLoader(TensorDataset(torch.randn(40, 64)), batch_size=4))

    def loaded():
        next(batches)
        step()

    [seen] = profiles.traces(loaded, "cpu", steps=1, warm_up=1)
    assert tuple(p.name for p in seen if p.lane == "phase") == profiles.PHASES


def test_typical_is_the_step_of_median_length():
    short, middle, long = spans((0, 1)), spans((5, 7), (6, 8)), spans((0, 9))
    assert profiles.typical([long, short, middle]) is middle
    assert profiles.length(middle) == 3


def test_traced_and_plain_steps_are_taken_in_turn():
    traced, plain, steps = profiles.traced_and_plain(perceptron(), "cpu", rounds=2)
    assert len((traced / plain).samples) == 2
    assert [profiles.length(step) for step in steps] == pytest.approx(traced.samples)


def test_several_steps_take_turns_and_each_is_called_before_it_is_profiled(monkeypatch):
    called = []
    monkeypatch.setattr(profiles, "traces", lambda step, *_, **__: step() or [spans((0, 1))])
    steps = {name: partial(called.append, name) for name in "ab"}
    found = profiles.all_traced_and_plain(steps, "cpu", rounds=2)
    assert "".join(called) == "ab" + "aaabbb" * 2  # each turn: a traced step, and the second of two plain ones
    assert [seen for _, _, seen in found.values()] == [[spans((0, 1))] * 2] * 2
    (traced, plain, _), (_, other, _) = found.values()
    assert traced.samples == (1, 1)
    assert traced.pairing_id == plain.pairing_id == other.pairing_id
