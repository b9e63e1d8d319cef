"""Operators with their arithmetic and traffic, against PyTorch's own counter and against counts by hand."""

from __future__ import annotations

from collections import Counter
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from dlperf.models import gpt, resnet, steps, text
from dlperf.models.cost import FORMULAS, Operator, operators
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


def test_a_sparse_gradient_is_as_large_as_its_indices_and_its_values() -> None:
    table = nn.Embedding(1000, 32, sparse=True)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
    ids = torch.tensor([3, 5, 5])
    table(ids).sum().backward()
    [add] = [op for op in operators(optimizer.step) if op.name == "add_"]
    gradient = 3 * 8 + 3 * 32 * 4
    assert add.bytes == gradient + 2 * 1000 * 32 * 4  # the weights are read and written, as far as is known
    add.alone()()


def test_sparse_tensors_of_rows_have_bytes_too() -> None:
    x, y = torch.eye(4).to_sparse_csr(), torch.ones(4, 4)
    product = operators(lambda: x @ y)[-1]
    assert product.bytes >= 5 * 8 + 4 * 8 + 4 * 4 + 4 * 16
    product.alone()()


def test_a_mask_alone_selects_as_many_as_in_the_step() -> None:
    y = torch.tensor([[1.0], [-1], [2]], requires_grad=True)
    found = operators(lambda: y[y[:, 0] > 0].sum().backward())
    [back] = [op for op in found if "index_put" in op.name]
    sums = back.alone()()  # numbers of [0.5, 1), to those that the mask selects of which another is added
    assert isinstance(sums, torch.Tensor)
    assert (sums >= 1).sum() == 2


def test_integers_alone_are_those_of_the_step_before_it_changed_them() -> None:
    steps = torch.arange(6)[1::2]
    [add] = operators(lambda: steps.add_(1))
    assert add.alone()().tolist() == [2, 4, 6]  # type: ignore[attr-defined]
    assert add.alone()().tolist() == [2, 4, 6]  # type: ignore[attr-defined]


def by_hand(model: nn.LSTM, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Returns what an LSTM of one layer returns for ``x`` (time, batch, width), a position after the other."""
    outputs = []
    for now in x:
        gates = F.linear(now, model.weight_ih_l0, model.bias_ih_l0) + F.linear(h, model.weight_hh_l0, model.bias_hh_l0)
        i, f, g, o = gates.chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        outputs.append(h)
    return torch.stack(outputs)


def test_an_lstm_has_the_arithmetic_of_one_that_is_written_by_hand() -> None:
    time, batch, ins, width = 5, 3, 4, 6
    model = nn.LSTM(ins, width)
    x = torch.randn(time, batch, ins, requires_grad=True)
    state = [torch.zeros(1, batch, width, requires_grad=True) for _ in range(2)]
    found = operators(lambda: model(x, state)[0].sum().backward())
    layers = {op.name: op.flops for op in found if op.flops}
    hand = lambda: by_hand(model, x, state[0][0], state[1][0])
    torch.testing.assert_close(hand(), model(x, state)[0])
    counts = []
    for step in (hand, lambda: hand().sum().backward()):
        with FlopCounterMode(display=False) as counter:
            step()
        counts.append(counter.get_total_flops())
    assert layers == {"mkldnn_rnn_layer": counts[0], "mkldnn_rnn_layer_backward": counts[1] - counts[0]}


def test_a_recurrent_layer_of_a_gpu_has_the_same_formula_for_all_its_matrices() -> None:
    x, aten = torch.ones(5, 3, 4), torch.ops.aten
    weights = [torch.ones(24, 4), torch.ones(24, 6), torch.ones(24), torch.ones(24)]
    one = 2 * 5 * 3 * (24 * 4 + 24 * 6)
    assert FORMULAS[aten._cudnn_rnn](x, weights, 4, None, None, out_val=()) == one
    assert FORMULAS[aten._cudnn_rnn_backward](x, 2 * weights, 4, None, None, out_val=()) == 4 * one


def test_composite_operators_are_taken_apart_in_inference_mode_too() -> None:
    model, x = nn.Linear(3, 5), torch.ones(2, 3)
    with torch.inference_mode():
        found = operators(lambda: model(x))
    assert [op.flops for op in found if op.flops] == [2 * 2 * 3 * 5]


def test_operators_of_other_libraries_are_found_too() -> None:
    @torch.library.custom_op("zoo::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    assert Operator("twice", 0, 24) in operators(lambda: torch.ops.zoo.twice(torch.ones(3)))
