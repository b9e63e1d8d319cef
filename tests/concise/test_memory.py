"""What a step keeps in memory, held against formulas whose numbers a hand can add up."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from dlperf.concise.memory import Memory, Watch, nbytes

WIDTH, ROWS = 8, 5


def model() -> nn.Module:
    """Returns a network whose forward pass keeps its input, two rows of ReLUs and the input of the second matrix."""
    return nn.Sequential(nn.Linear(WIDTH, WIDTH, bias=False), nn.ReLU(), nn.Linear(WIDTH, 2, bias=False))


def watched(network: nn.Module) -> Memory:
    """Returns what a step of a network and Adam keeps."""
    optimizer = torch.optim.Adam(network.parameters())
    watch = Watch()
    watch.enter(network)
    loss = network(torch.ones(ROWS, WIDTH)).sum()
    watch.leave()
    loss.backward()
    watch.look()
    optimizer.step()
    watch.look_at(optimizer)
    return watch.most


def test_views_of_one_storage_count_once() -> None:
    whole = torch.zeros(6)
    assert nbytes([whole, whole[:2], whole.view(2, 3)]) == 24


def test_a_step_keeps_parameters_gradients_two_moments_and_activations() -> None:
    found = watched(model())
    weights = 4 * (WIDTH * WIDTH + 2 * WIDTH)
    activations = 4 * ROWS * (WIDTH + WIDTH)  # the input, and the ReLU's output, which the second matrix keeps too
    assert found == Memory(weights, weights, 2 * weights, activations)
    assert found.total == 4 * weights + activations


def test_of_what_is_computed_again_inputs_count_and_the_inside_of_one_block() -> None:
    block = lambda: nn.Sequential(nn.Linear(WIDTH, WIDTH, bias=False), nn.ReLU(), nn.Linear(WIDTH, WIDTH, bias=False))
    blocks = [block() for _ in range(4)]
    watch, goes_back = Watch(), [False]
    for each in blocks:
        each.register_forward_pre_hook(lambda module, _: watch.enter(module, again=True) if goes_back[0] else None)
        each.register_forward_hook(lambda *_: watch.leave() if goes_back[0] else None, always_call=True)
    watch.enter(nn.Sequential(*blocks))
    value = torch.ones(ROWS, WIDTH, requires_grad=True)
    for each in blocks:
        value = checkpoint(each, value, use_reentrant=False)
    watch.leave()
    row = 4 * ROWS * WIDTH
    assert watch.most.activations == 4 * row  # what each block was given
    goes_back[0] = True
    value.sum().backward()
    assert watch.most.activations == 5 * row  # and, of the last block, what its second matrix needs


def test_parameters_that_somebody_gathers_for_a_while_count_while_they_are_there() -> None:
    network = nn.Linear(2, 2, bias=False)
    gathered = nn.Parameter(torch.zeros(4, 4))
    watch = Watch()
    watch.enter(network)
    network.register_parameter("gathered", gathered)
    watch.look()
    gathered.untyped_storage().resize_(0)
    watch.look()
    watch.leave()
    assert watch.most.parameters == 4 * (4 + 16)
    assert nbytes(watch.parameters.values()) == 4 * 4
