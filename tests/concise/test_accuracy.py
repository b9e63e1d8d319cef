"""As good on k devices? What a recipe does to data, rate and network; PyTorch's sampler and batch norm as oracles."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import update_bn
from torch.utils.data import DistributedSampler

from dlperf.concise import accuracy
from dlperf.concise.accuracy import Recipe
from dlperf.multigpu import batch_size
from dlperf.multigpu.normalisation import Synchronised

SAME = Recipe(batch=8, epochs=1)


def flat(parts):
    return [example for part in parts for example in part]


def test_shares_are_the_samplers_and_together_each_example_once():
    sampler = DistributedSampler(range(40), 2, 1, seed=3)
    sampler.set_epoch(5)
    mine = accuracy.shares(SAME, 40, 1, 2, 3, 5)
    assert flat(mine) == list(sampler)
    assert {len(part) for part in mine} == {4}
    assert sorted(flat(mine) + flat(accuracy.shares(SAME, 40, 0, 2, 3, 5))) == list(range(40))


def test_each_change_does_what_its_name_says():
    of = lambda recipe, rank=0, epoch=0: accuracy.shares(recipe, 40, rank, 2, 0, epoch)
    assert of(SAME) != of(SAME, epoch=1)
    still = replace(SAME, reshuffle=False)
    assert of(still) == of(still, epoch=1)
    whole = replace(SAME, split=False)
    assert sorted(flat(of(whole))) == sorted(flat(of(whole, rank=1))) == list(range(40))
    uneven = replace(SAME, even=False)
    assert of(uneven) == of(SAME)
    assert len(of(uneven, rank=1)[-1]) == 1


def test_a_rate_rises_stays_and_falls():
    recipe = Recipe(rate=0.8, epochs=4, warm_up=1, decay=True)
    rates = [accuracy.rate_at(recipe, step, 16) for step in range(16)]
    assert rates[:4] == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert rates[4] == pytest.approx(0.8)
    assert rates[-1] == pytest.approx(0.8 / 12)
    assert {accuracy.rate_at(Recipe(rate=0.8), step, 16) for step in range(16)} == {0.8}


def test_a_seed_is_one_network_and_recipes_change_what_they_say():
    first, again = (nn.utils.parameters_to_vector(accuracy.network(SAME, 1).parameters()) for _ in range(2))
    assert torch.equal(first, again)
    small = accuracy.network(replace(SAME, initial=0.01), 1)
    filters = torch.cat([p.flatten() for p in small.parameters() if p.dim() == 4])
    assert filters.std().item() == pytest.approx(0.01, rel=0.1)
    norms = [
        m for m in accuracy.network(replace(SAME, synchronised=True), 1).modules() if isinstance(m, nn.BatchNorm2d)
    ]
    assert norms
    assert all(isinstance(norm, Synchronised) for norm in norms)


def test_one_device_learns_and_the_random_state_is_left_alone():
    data, state = batch_size.digits(), torch.random.get_rng_state()
    recipe = Recipe(epochs=3, warm_up=1, decay=True, watched=True)
    run = accuracy.train(accuracy.network(recipe, 0), recipe, data, 0, 1, 0)
    assert len(run.running) == len(run.fresh) == 3
    assert run.fresh[-1] > 0.7
    assert torch.equal(state, torch.random.get_rng_state())


def test_fresh_statistics_are_those_of_the_whole_training_set():
    data = batch_size.digits()
    net = accuracy.network(SAME, 0)
    fresh = accuracy.with_fresh_statistics(net, data)
    right = accuracy.SmallResNet()
    right.load_state_dict(net.state_dict())
    update_bn(data.images.split(250), right)
    for mine, theirs in zip(fresh.buffers(), right.buffers(), strict=True):
        torch.testing.assert_close(mine, theirs)
    stem = net.stem[0][0](data.images)
    torch.testing.assert_close(fresh.stem[0][1].running_mean, stem.mean(dim=(0, 2, 3)))


def test_a_k_that_the_group_cannot_play_is_refused():
    for k in (2, 3):
        with pytest.raises(ValueError, match="k is 1 or 4"):
            accuracy.runs(0, 4, Recipe(), k, (0,))
