"""A step's operators and the graph of its backward pass, against what PyTorch itself says of them."""

from __future__ import annotations

import pytest
import torch

from dlperf.parallel import backward, operators, schedule
from dlperf.parallel.operators import Group, Operator


def test_the_operators_of_a_step_are_those_that_it_calls() -> None:
    a, before = torch.randn(64, 64), torch.get_num_threads()
    found = operators.paired(lambda: (a @ a).relu(), threads=2, rounds=2)
    assert [op.name for op in found] == ["aten::mm", "aten::relu"]
    assert all(op.alone > 0 < op.split for op in found)
    assert torch.get_num_threads() == before


def test_a_step_that_does_something_else_each_time_is_refused() -> None:
    a, calls = torch.randn(4, 4), []

    def step() -> None:
        calls.append(a.relu() if len(calls) % 3 else a.sigmoid())

    with pytest.raises(ValueError, match="different orders"):
        operators.paired(step, threads=2, rounds=2)


def test_operators_are_grouped_by_their_length_on_one_thread() -> None:
    ops = [Operator("a", 1.0, 1.0), Operator("b", 2.0, 1.0), Operator("c", 5.0, 2.0)]
    assert operators.by_length(ops, [2.0, 10.0]) == [Group(1, 1 / 8, 1.0), Group(2, 7 / 8, 7 / 3), Group(0, 0.0, 1.0)]


def test_a_chain_has_no_width_and_two_branches_have_some() -> None:
    x = torch.randn(8, 8, requires_grad=True)
    chain = backward.clocked(x.exp().sin().sum())
    assert sorted(len(task.after) for task in chain.values()) == [0, 1, 1, 1]  # sum, sin, exp, and where x.grad is made
    assert schedule.critical_path(chain) == pytest.approx(schedule.work(chain))
    forked = backward.clocked((x.exp() * x.sin()).sum())
    assert sorted(len(task.after) for task in forked.values()) == [0, 1, 1, 1, 2]
    assert schedule.critical_path(forked) < schedule.work(forked)


def test_a_clocked_backward_pass_leaves_the_same_gradient() -> None:
    x = torch.randn(8, 8, requires_grad=True)
    backward.clocked((x.exp() * x.sin()).sum())
    assert x.grad is not None
    torch.testing.assert_close(x.grad, (x.exp() * (x.sin() + x.cos())).detach())
