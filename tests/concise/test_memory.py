"""What a step keeps, against PyTorch's own tensors, and against counts that can be done by hand."""

from __future__ import annotations

from copy import deepcopy
from functools import partial

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from dlperf.concise import memory, observed, sharded
from dlperf.models import gpt, text

CPU = torch.device("cpu")
SIZES = [
    (gpt.Size(len(text.CHARACTERS), context=64, layers=2, heads=2, width=64), 4),
    (gpt.Size(len(text.CHARACTERS), context=32, layers=3, heads=4, width=128), 2),
]


@pytest.fixture(params=SIZES, ids=str)
def trained(request):
    size, batch = request.param
    torch.manual_seed(0)
    return gpt.GPT(size), batch, text.batch(batch, size.context)


def test_a_storage_counts_once_however_many_tensors_show_it():
    x = torch.zeros(10, 10)
    assert memory.nbytes([x, x[0], x.t(), torch.zeros(3, dtype=torch.float64)]) == 400 + 24


def test_adam_in_float32_keeps_16_bytes_for_a_parameter(trained):
    model, _, (inputs, targets) = trained
    optimizer = torch.optim.AdamW(model.parameters())
    sharded.backward(model, inputs, targets)
    optimizer.step()
    parameters = sum(p.numel() for p in model.parameters())
    assert memory.held(model, optimizer).total == 16 * parameters
    optimizer.zero_grad()
    assert memory.held(model, optimizer).gradients == 0


def test_the_formula_counts_what_autograd_saves_and_scores_come_on_top_without_fusion(trained):
    model, batch, data = trained
    forward = lambda: observed.mean_loss(model(data[0]), data[1])
    told = memory.activations(model.size, batch)
    saved = memory.saved(forward, model)
    assert saved == pytest.approx(told, rel=0.03)
    with sdpa_kernel(SDPBackend.MATH):
        unfused = memory.saved(forward, model)
    assert unfused - saved == pytest.approx(memory.scores(model.size, batch), rel=0.1)


def test_a_block_that_is_computed_again_has_the_same_gradients_and_keeps_its_input_alone(trained):
    model, batch, (inputs, targets) = trained
    again = memory.recompute(deepcopy(model))
    _, left = memory.allocated(lambda: observed.mean_loss(again(inputs), targets), CPU)
    told = memory.activations_recomputed(model.size, batch)
    states = model.size.layers * torch.get_rng_state().nbytes  # of the random generator, to draw the same again
    assert left - states == pytest.approx(told, rel=0.03)
    for net in (model, again):
        sharded.backward(net, inputs, targets)
    for a, b in zip(model.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_the_allocator_tells_the_most_and_what_is_left():
    def fn() -> torch.Tensor:
        large = torch.zeros(1_000_000)
        small = large[:1000].clone()
        del large
        return small

    most, left = memory.allocated(fn, CPU)
    assert left == pytest.approx(4000, abs=64)
    assert most == pytest.approx(4_004_000, abs=64)
    assert memory.allocated(partial(torch.zeros, 250), CPU)[1] == pytest.approx(1000, abs=64)
