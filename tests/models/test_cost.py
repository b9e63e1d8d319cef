"""Operators with their arithmetic and traffic, against PyTorch's own counter and against counts by hand."""

from __future__ import annotations

from collections import Counter
from functools import partial

import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from dlperf.models import gpt, resnet, steps, text
from dlperf.models.cost import Operator, operators
from dlperf.models.training import training_step


def test_what_is_read_and_what_is_made_is_traffic() -> None:
    x, y = torch.ones(100), torch.ones(100)
    assert operators(lambda: x + y) == [Operator("add", 0, 1200)]
    assert operators(lambda: x + x) == [Operator("add", 0, 800)]
    assert operators(lambda: x.add_(y)) == [Operator("add_", 0, 1200)]
    assert operators(lambda: torch._foreach_add_([x, y], 1.0)) == [Operator("_foreach_add_", 0, 1600)]
    assert operators(lambda: x[:50].sum()) == [Operator("sum", 0, 204)]


def test_a_product_is_counted_forward_and_backward() -> None:
    x, w = torch.ones(2, 3), torch.ones(3, 5, requires_grad=True)
    found = operators(lambda: (x @ w).sum().backward())
    forward, backward = (each for each in found if each.name == "mm")
    assert forward == Operator("mm", 2 * 2 * 3 * 5, 4 * (6 + 15 + 10))
    assert backward.flops == 2 * 3 * 2 * 5


def test_the_arithmetic_of_both_steps_is_that_of_the_flop_counter() -> None:
    size = gpt.Size(len(text.CHARACTERS), context=16, layers=2, heads=2, width=32)
    for model, data in ((resnet.ResNet18(), resnet.batch(2)), (gpt.GPT(size), text.batch(2, 16))):
        step = partial(training_step, model, torch.optim.SGD(model.parameters(), lr=0.1), *data)
        found = operators(step)
        with FlopCounterMode(display=False) as counter:
            step()
        on_cpu = sum(each.flops for each in found if "attention_for_cpu" in each.name)
        assert sum(each.flops for each in found) - on_cpu == counter.get_total_flops()


def test_attention_on_a_cpu_is_counted_as_on_a_gpu() -> None:
    """Forward two products of (time, width) by (width, time), backward five; PyTorch's counter knows of neither."""
    q, k, v = (torch.ones(2, 4, 16, 8, requires_grad=True) for _ in range(3))
    found = operators(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward())
    forward, backward = (each for each in found if "attention" in each.name)
    assert forward.flops == 2 * 2 * 2 * 4 * 16 * 16 * 8
    assert backward.flops == 5 * 2 * 2 * 4 * 16 * 16 * 8


def test_an_operator_tells_its_phase_and_its_layer_backward_too() -> None:
    found = operators(steps.resnet_step("cpu", 1))
    convolutions = [each for each in found if "convolution" in each.name]
    assert Counter(each.phase for each in convolutions) == {"forward": 20, "backward": 20}
    layers = ["stem", "stages.0", "stages.1", "stages.2", "stages.3"]
    assert list(dict.fromkeys(each.layer for each in convolutions)) == layers
    backward = [each.layer for each in convolutions if each.phase == "backward"]
    assert list(dict.fromkeys(backward)) == layers[::-1]
    updates = [each for each in found if each.phase == "update"]
    assert {each.layer for each in updates} == {""}
    assert {each.phase for each in found} == {"forward", "backward", "update"}


def test_each_operator_of_a_step_can_be_called_alone() -> None:
    size = gpt.Size(len(text.CHARACTERS), context=16, layers=1, heads=2, width=32)
    for step in (steps.resnet_step("cpu", 2), steps.gpt_step("cpu", 2, size)):
        before = [p.detach().clone() for p in step.model.parameters()]
        found = operators(step)
        after = [p.detach().clone() for p in step.model.parameters()]
        for each in {each.name: each for each in found}.values():
            again = [other for other in operators(each.alone()) if other.name == each.name]
            assert [other.flops for other in again] == [each.flops], each.name
        changed = [bool((old != new).any()) for old, new in zip(before, after, strict=True)]
        assert any(changed)
        torch.testing.assert_close(list(step.model.parameters()), after)  # what is called alone changes no weight


def test_every_parameter_of_a_step_is_changed_once() -> None:
    model = resnet.ResNet18()
    step = partial(training_step, model, torch.optim.SGD(model.parameters(), lr=0.1, foreach=False), *resnet.batch(2))
    names = Counter(each.name for each in operators(step))
    assert names["convolution"] == names["convolution_backward"] == names["native_batch_norm"] == 20
    assert names["add_"] >= len(list(model.parameters()))
