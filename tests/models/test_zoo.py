"""Networks that are not the book's: their operators can be counted, and called alone."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dlperf.measuring.coverage import call, untimed, without_formula
from dlperf.measuring.model import Machine
from dlperf.measuring.prediction import attained, by_phase, by_regime
from dlperf.models.cost import Operator, operators
from tests.zoo import ZOO

HERE = Machine(peak=1e11, bandwidth=1e10, overhead=1e-6)


def unknown_to_pytorch(op: Operator) -> bool:
    """Whether `FlopCounterMode` has no formula for an operator that has one here: attention and LSTMs on a CPU."""
    return "attention_for_cpu" in op.name or op.name.startswith("mkldnn_rnn_layer")


@pytest.mark.parametrize("name", ZOO)
def test_a_step_is_counted_as_pytorch_counts_it_and_each_operator_can_be_called_alone(name: str) -> None:
    torch.manual_seed(0)
    step = ZOO[name](False)
    step()  # the optimizer makes its state, whose operators are no part of other steps
    found = operators(step)
    with FlopCounterMode(display=False) as counter:
        step()
    assert sum(op.flops for op in found if not unknown_to_pytorch(op)) == counter.get_total_flops()
    assert sum(op.flops for op in found) > 0
    assert {op.phase for op in found} == {"forward", "backward", "update"}
    calls = {call(op): op for op in found}
    for op in calls.values():
        op.alone()()
    seconds = dict.fromkeys(calls, 1.0)
    assert sum(by_phase(found, seconds).values()) == len(found)
    assert untimed(found, seconds) == ""
    assert sum(by_regime(found, HERE).values()) == pytest.approx(1)
    assert attained(found, HERE, seconds).keys() == {op.name for op in found}
    assert not any(word in each for each in without_formula(found) for word in ("mm", "conv", "rnn", "attention"))
