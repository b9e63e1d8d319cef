"""As good on k devices: two processes do what one does, and the full table of accuracies per k and seed."""

from dataclasses import replace
from statistics import mean

from dlperf.concise import accuracy
from dlperf.concise.accuracy import Recipe
from dlperf.multigpu.group import Group

SEEDS = range(5)


def test_synchronised_batch_norm_on_two_devices_is_one_device():
    recipe = Recipe(epochs=1, synchronised=False)
    with Group(2) as group:
        (one,) = accuracy.gathered(group, recipe, 1, [0])
        (two,) = accuracy.gathered(group, replace(recipe, synchronised=True), 2, [0])
    assert abs(one.fresh[-1] - two.fresh[-1]) < 0.05


def test_k_devices_are_as_good_as_one():
    right = Recipe(warm_up=1, decay=True)
    found = {}
    for k in (2, 4):
        with Group(k) as group:
            if k == 2:
                found[1] = accuracy.gathered(group, right, 1, SEEDS)
            found[k] = accuracy.gathered(group, right, k, SEEDS)
    for k, runs in found.items():
        print(k, *(f"{run.fresh[-1]:.3f}" for run in runs))
    means = [mean(run.fresh[-1] for run in runs) for runs in found.values()]
    assert max(means) - min(means) < 0.02
