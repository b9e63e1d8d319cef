"""Operators with their arithmetic and traffic, against PyTorch's own counter and against counts by hand."""

from __future__ import annotations

from collections import Counter
from functools import partial

import torch
from torch.utils.flop_counter import FlopCounterMode

from dlperf.models import gpt, resnet, text
from dlperf.models.cost import Operator, operators
from dlperf.models.training import training_step


def test_what_is_read_and_what_is_made_is_traffic() -> None:
    x, y = torch.ones(100), torch.ones(100)
    assert operators(lambda: x + y) == [Operator("add", 0, 1200)]
    assert operators(lambda: x + x) == [Operator("add", 0, 800)]
    assert operators(lambda: x.add_(y)) == [Operator("add_", 0, 1200)]
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
        assert sum(each.flops for each in found) == counter.get_total_flops()


def test_every_parameter_of_a_step_is_changed_once() -> None:
    model = resnet.ResNet18()
    step = partial(training_step, model, torch.optim.SGD(model.parameters(), lr=0.1, foreach=False), *resnet.batch(2))
    names = Counter(each.name for each in operators(step))
    assert names["convolution"] == names["convolution_backward"] == names["native_batch_norm"] == 20
    assert names["add_"] >= len(list(model.parameters()))
