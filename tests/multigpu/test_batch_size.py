"""Batch sizes: stacked networks against PyTorch's own, the fit and the noise scale against cases one can work out."""

from math import inf

import pytest
import torch
from torch import nn

from dlperf.multigpu import batch_size as bs


@pytest.fixture(scope="module")
def data():
    return bs.digits()


def test_a_stacked_step_is_each_networks_own_step(data):
    weights, rates = bs.perceptrons((3, 4)), torch.tensor([0.1, 0.3])
    x, y = bs.draws(data, 2, 16, torch.Generator().manual_seed(0))
    before = [w.detach().clone() for w in weights]
    bs.step(weights, x, y, rates)
    for i in range(2):
        net = nn.Sequential(nn.Linear(64, bs.HIDDEN), nn.ReLU(), nn.Linear(bs.HIDDEN, 10))
        with torch.no_grad():
            for p, w in zip(net.parameters(), before, strict=True):
                p.copy_(w[i].squeeze(0) if p.dim() == 1 else w[i].T)
        optimizer = torch.optim.SGD(net.parameters(), rates[i].item())
        nn.functional.cross_entropy(net(x[i]), y[i]).backward()
        optimizer.step()
        for p, w in zip(net.parameters(), weights, strict=True):
            torch.testing.assert_close(p, w[i].squeeze(0) if p.dim() == 1 else w[i].T)


def test_a_seed_is_the_same_network_at_every_rate():
    first, *_ = bs.perceptrons((0, 1), copies=3)
    assert torch.equal(first[0], first[2])
    assert torch.equal(first[1], first[5])
    assert not torch.equal(first[0], first[1])


def test_digits_are_all_there_and_none_is_in_both_parts(data):
    assert len(data.labels) + len(data.test_labels) == 1797
    both = torch.cat([data.images, data.test_images]).flatten(1)
    assert both.shape[1] == 64
    assert both.min() == -0.5
    assert both.max() == 0.5


def test_the_fit_finds_the_curve_it_was_given():
    batches = (4, 16, 64, 256)
    least, critical = bs.fit(batches, [30 * (1 + 50 / b) for b in batches])
    assert least == pytest.approx(30)
    assert critical == pytest.approx(50)


def test_the_noise_scale_is_that_of_gradients_whose_noise_is_known():
    draw = torch.Generator().manual_seed(0)
    dimensions, n, k, trials = 50, 4, 8, 4000
    signal = torch.full((dimensions,), 0.2, dtype=torch.float64)
    noise = torch.randn(trials, k, dimensions, generator=draw, dtype=torch.float64) * (3 / n**0.5)
    gradients = signal + noise  # of n examples, each with variance 9 in every dimension
    own, averaged = (g.square().sum(-1).mean().item() for g in (gradients, gradients.mean(1)))
    told = 9 * dimensions / (0.04 * dimensions)
    assert bs.noise_scale(own, averaged, n, k) == pytest.approx(told, rel=0.1)


def test_larger_batches_need_fewer_steps_but_more_examples(data):
    rates = (0.32, 0.64, 1.28)
    small, large = (bs.best(bs.steps_to(0.3, data, b, rates, range(3), most=2000))[1] for b in (8, 128))
    assert sorted(large)[1] < sorted(small)[1]
    assert 128 * sorted(large)[1] > 8 * sorted(small)[1]


def test_the_best_rate_brought_every_seed_there():
    found = {0.1: [9.0, 9.0, 9.0], 0.2: [3.0, 3.0, inf], 0.3: [5.0, 4.0, 6.0]}
    assert bs.best(found) == (0.3, [5.0, 4.0, 6.0])
    with pytest.raises(ValueError, match="no learning rate"):
        bs.best({0.2: [3.0, inf]})


def test_the_noise_is_a_positive_number_of_examples_while_the_loss_falls(data):
    found = bs.noise_along(0.5, data, 16, 4, 0.64, range(3))
    assert found
    assert sum(found) > 0


def test_a_rate_of_zero_teaches_nothing_and_a_warm_up_lasts_its_share(data):
    nothing, some, half = bs.trained(data, 32, [(0.0, 0.0), (0.3, 0.0), (0.3, 0.5)], range(2), 3200)
    assert max(nothing) < 0.4
    assert min(some) > 0.7
    assert min(half) > 0.6
    assert some != half
