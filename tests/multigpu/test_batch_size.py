"""Batch sizes: stacked networks against PyTorch's own, the noise scale against gradients whose noise is known."""

from math import inf, nan

import pytest
import torch
from torch import nn

from dlperf.models import text
from dlperf.multigpu import batch_size as bs


@pytest.fixture(scope="module")
def data():
    return bs.characters()


def test_examples_are_characters_and_the_one_that_follows(data):
    classes = len(text.CHARACTERS)
    assert len(data.targets) + len(data.test_targets) == len(text.EXCERPT) - bs.CONTEXT
    assert (data.inputs.view(-1, bs.CONTEXT, classes).sum(2) == 1).all()
    read = text.decode(data.inputs[7].view(bs.CONTEXT, classes).argmax(1))
    assert read + text.decode(data.targets[7:8]) == text.EXCERPT[7 : 8 + bs.CONTEXT]
    assert text.decode(data.test_targets[-1:]) == text.EXCERPT[-1]


def test_a_stacked_step_is_each_networks_own_step(data):
    weights, rates = bs.networks((3, 4)), torch.tensor([0.1, 0.3])
    x, y = bs.draw_batches(data, 2, 16, torch.Generator().manual_seed(0))
    before = [w.detach().clone() for w in weights]
    bs.step(weights, x, y, rates)
    for i in range(2):
        sizes = (x.shape[2], bs.HIDDEN, len(text.CHARACTERS))
        net = nn.Sequential(nn.Linear(*sizes[:2]), nn.ReLU(), nn.Linear(*sizes[1:]))
        mine = lambda w, p, i=i: w[i].squeeze(0) if p.dim() == 1 else w[i].T
        with torch.no_grad():
            for p, w in zip(net.parameters(), before, strict=True):
                p.copy_(mine(w, p))
        optimizer = torch.optim.SGD(net.parameters(), rates[i].item())
        nn.functional.cross_entropy(net(x[i]), y[i]).backward()
        optimizer.step()
        for p, w in zip(net.parameters(), weights, strict=True):
            torch.testing.assert_close(p, mine(w, p), rtol=1e-4, atol=1e-6)


def test_a_seed_is_the_same_network_at_every_rate():
    first, *_ = bs.networks((0, 1), copies=3)
    assert torch.equal(first[0], first[2])
    assert torch.equal(first[1], first[5])
    assert not torch.equal(first[0], first[1])


@pytest.mark.parametrize("value", [nan, inf, -inf, 1e30])
def test_a_network_that_diverged_has_the_loss_of_a_guess(data, value):
    weights = [torch.full_like(w, value) for w in bs.networks((0,))]
    assert bs.evaluate(weights, data.test_inputs[:10], data.test_targets[:10]).tolist() == pytest.approx([bs.GUESS])


def test_the_noise_scale_is_that_of_gradients_whose_noise_is_known():
    draw = torch.Generator().manual_seed(0)
    dimensions, n, k, trials = 50, 4, 8, 4000
    signal = torch.full((dimensions,), 0.2, dtype=torch.float64)
    noise = torch.randn(trials, k, dimensions, generator=draw, dtype=torch.float64) * (3 / n**0.5)
    gradients = signal + noise  # of n examples, each with variance 9 in every dimension
    own, averaged = (g.square().sum(-1).mean().item() for g in (gradients, gradients.mean(1)))
    predicted = 9 * dimensions / (0.04 * dimensions)
    assert bs.noise_scale(own, averaged, n, k) == pytest.approx(predicted, rel=0.1)


def test_gradients_without_a_signal_have_no_finite_noise_scale():
    assert bs.noise_scale(8.0, 1.0, 16, 8) == inf
    assert bs.noise_scale(nan, nan, 16, 8) == inf


def test_the_average_of_devices_is_the_gradient_of_their_batch(data):
    (w,) = ([t.detach() for t in bs.networks((0,))],)
    x, y = bs.draw_batches(data, 4, 8, torch.Generator().manual_seed(0))  # what squared_norms draws first
    leaves = [t.requires_grad_() for t in w]
    whole = torch.autograd.grad(bs.losses(leaves, x.flatten(0, 1)[None], y.flatten()[None]).sum(), leaves)
    own, averaged = bs.squared_norms(0.0, data, 8, 4, 0.1, (0,), number=1)
    assert averaged == pytest.approx(sum(g.square().sum().item() for g in whole), rel=1e-4)
    assert own > averaged


def test_larger_batches_need_fewer_steps_but_more_examples(data):
    small, large = (bs.steps_to(3.0, data, b, (1.6,), range(3), number=500)[1.6] for b in (8, 128))
    assert max(large) < min(small)
    assert 128 * min(large) > 8 * max(small)


def test_a_loss_that_is_not_reached_takes_infinitely_many_steps(data):
    assert bs.steps_to(0.0, data, 4, (0.1,), (0, 1), number=3) == {0.1: [inf, inf]}


def test_a_rate_of_zero_teaches_nothing_and_a_warm_up_lasts_its_share(data):
    nothing, some, half, diverged = bs.train(data, 32, [(0.0, 0.0), (0.4, 0.0), (0.4, 0.5), (1e9, 0.0)], (0, 1), 3200)
    assert min(nothing) > 3.9
    assert max(some) < max(half) < 3.5
    assert diverged == pytest.approx([bs.GUESS] * 2)
