"""Test accuracy on one, two and four devices under DDP, and what changes of the recipe cost.

The chapter *Training on multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from math import sqrt
from statistics import fmean, stdev
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import update_bn
from torch.utils.data import DistributedSampler, TensorDataset

from dlperf.models import resnet
from dlperf.multigpu.group import Crew, first, own_device
from dlperf.turns import interleave

CHANNELS = 16
EPOCHS = 6
"""Each run goes through the training images so many times."""
ENOUGH = 512
"""Training images that fresh statistics are taken from."""


@dataclass(frozen=True)
class Recipe:
    """How to train: ``batch`` images of ``k`` devices together in a step, by SGD with momentum.

    The learning rate rises to ``rate`` in the first epoch if ``warm_up``, and then falls linearly to zero if
    ``falls``. Without ``set_epoch`` every epoch has the same order.
    """

    k: int = 2
    batch: int = 64
    rate: float = 0.1
    warm_up: bool = True
    falls: bool = True
    set_epoch: bool = True


RIGHT = Recipe()
CHANGES: Mapping[str, Recipe] = {
    "batch and rate doubled, no warm-up, constant rate": replace(
        RIGHT, batch=128, rate=0.2, warm_up=False, falls=False
    ),
    "constant rate": replace(RIGHT, falls=False),
    "no set_epoch": replace(RIGHT, set_epoch=False),
}
"""The changes of the recipe for two devices, by name; the first has the textbook's rate."""
KEYS = dict(zip(CHANGES, ("textbook-rate", "constant-rate", "no-set-epoch"), strict=True))
DEVICES = {1: "one device", 2: "two devices", 4: "four devices"}
"""The names of the right recipe's runs, by the number of devices."""


class Run(NamedTuple):
    """Test accuracies after epochs, by running and by fresh statistics of batch norm; and the steps taken."""

    running: list[float]
    fresh: list[float]
    steps: int


def network(seed: int) -> nn.Module:
    """Returns a convolution, a block of ResNet and a linear layer: images (batch, 8, 8) -> ten scores each."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        stem = nn.Unflatten(1, (1, 8)), resnet.convolution(1, CHANNELS, 3), nn.ReLU()
        return nn.Sequential(
            *stem, resnet.Block(CHANNELS, CHANNELS, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(CHANNELS, 10)
        )


def rate_at(recipe: Recipe, step: int, steps: int, epochs: int) -> float:
    """Returns the learning rate of a step of so many."""
    rising = steps // epochs if recipe.warm_up else 0
    if step < rising:
        return recipe.rate * (step + 1) / rising
    if not recipe.falls:
        return recipe.rate
    return recipe.rate * (steps - step) / (steps - rising)


def shares(recipe: Recipe, images: int, rank: int, seed: int, epoch: int) -> list[list[int]]:
    """Returns which images a device takes in each step of an epoch."""
    number: Any = range(images)  # the sampler asks only how many there are
    sampler: Any = DistributedSampler(number, recipe.k, rank, seed=seed)
    if recipe.set_epoch:
        sampler.set_epoch(epoch)
    order, each = list(sampler), recipe.batch // recipe.k
    return [order[i : i + each] for i in range(0, len(order), each)]


def fresh_statistics(net: nn.Module, images: Tensor) -> nn.Module:
    """Returns a copy of the network that has seen these images, in batches of 256, and no others: `update_bn`."""
    copy = network(0).to(images.device)
    copy.load_state_dict(net.state_dict())
    update_bn(images.split(256), copy)
    return copy


@torch.no_grad()
def accuracy(net: nn.Module, images: Tensor, labels: Tensor) -> float:
    """Returns the share of images that get their highest score for the right class."""
    net.eval()
    return int((net(images).argmax(1) == labels).sum()) / len(labels)


def train(rank: int, size: int, recipe: Recipe, data: Sequence[Tensor], seed: int, tested: Collection[int]) -> Run:
    """Trains on device ``rank`` of the recipe's k until the last epoch that is ``tested``, and returns its run.

    Only device 0 tests, and has accuracies. Epochs count from 0. Raises ValueError if devices are fewer than k, or k
    does not divide the batch.
    """
    k, epochs = recipe.k, max(tested) + 1
    if k > size or recipe.batch % k:
        raise ValueError(f"{size} devices cannot train on a batch of {recipe.batch} split over {k}")
    device = own_device()
    images, labels, *test = (tensor.to(device) for tensor in data)
    net = network(seed).to(device)
    model = DistributedDataParallel(net, process_group=first(k)) if k > 1 else net
    optimizer = torch.optim.SGD(net.parameters(), recipe.rate, momentum=0.9, fused=True)
    running, fresh, done = [], [], 0
    for epoch in range(epochs):
        parts = shares(recipe, len(labels), rank, seed, epoch)
        net.train()
        for part in parts:
            optimizer.param_groups[0]["lr"] = rate_at(recipe, done, epochs * len(parts), epochs)
            cross_entropy(model(images[part]), labels[part]).backward()
            optimizer.step()
            optimizer.zero_grad()
            done += 1
        if rank == 0 and epoch in tested:
            running.append(accuracy(net, *test))
            fresh.append(accuracy(fresh_statistics(net, images[:ENOUGH]), *test))
    return Run(running, fresh, done)


def compare(devices: Crew, data: Sequence[TensorDataset], repeats: int = 7) -> dict[str, list[Run]]:
    """Returns the runs of each seed from 0 on: by the right recipe on 1, 2 and 4 devices, and with each change on 2.

    ``data`` is to train on and to test on: images (n, 8, 8) and labels. Where a cell's time is used up, fewer seeds
    are tried.
    """
    tensors = [tensor for part in data for tensor in part[:]]
    recipes = {name: replace(RIGHT, k=k) for k, name in DEVICES.items()} | dict(CHANGES)
    ways = {name: partial(_next, devices.first(each.k), each, tensors, count()) for name, each in recipes.items()}
    return {name: list(runs) for name, runs in interleave(ways, repeats, warm_up=0).items()}


def _next(devices: Crew, recipe: Recipe, data: Sequence[Tensor], seeds: Iterator[int]) -> Run:
    tested = range(EPOCHS) if recipe == RIGHT else (0, EPOCHS - 1)  # a test takes as long as a few steps
    return devices.run(train, recipe, data, next(seeds), tested)[0]


def summary(trained: Mapping[str, Sequence[Run]]) -> dict[str, float]:
    """Returns means over the seeds, by key: accuracies from 0 to 1, their differences in percentage points.

    ``right-k`` is the accuracy on k devices by fresh statistics after the last epoch, ``right-spread`` the largest of
    these less the smallest, and ``right-error`` the standard error of that, from the differences seed by seed;
    ``cost-<change>`` is what a change costs against two devices, ``worst-cost`` the largest.
    ``early-gap`` and ``late-gap`` are fresh less running statistics after the first and the last epoch on two devices,
    ``early-running`` and ``early-fresh`` the sides of the former; ``early-gap-one`` is the former on one device,
    ``late-gap-constant`` the latter at a constant rate. All are over so many ``seeds``.
    """
    last = {name: _mean(runs, "fresh", -1) for name, runs in trained.items()}
    right = {f"right-{k}": last[name] for k, name in DEVICES.items()}
    best, worst = (end(DEVICES.values(), key=last.__getitem__) for end in (max, min))
    costs = {f"cost-{key}": 100 * (right["right-2"] - last[name]) for name, key in KEYS.items()}
    one, two = (trained[DEVICES[k]] for k in (1, 2))
    gap = lambda runs, epoch: 100 * (_mean(runs, "fresh", epoch) - _mean(runs, "running", epoch))
    return {
        **right,
        "right-spread": 100 * (last[best] - last[worst]),
        "right-error": 100 * _error(trained[best], trained[worst]),
        **costs,
        "worst-cost": max(costs.values()),
        "early-gap": gap(two, 0),
        "early-gap-one": gap(one, 0),
        "late-gap": gap(two, -1),
        "late-gap-constant": gap(trained["constant rate"], -1),
        "early-running": _mean(two, "running", 0),
        "early-fresh": _mean(two, "fresh", 0),
        "seeds": len(two),
    }


def _mean(runs: Sequence[Run], kind: str, epoch: int) -> float:
    return fmean(getattr(run, kind)[epoch] for run in runs)


def _error(runs: Sequence[Run], others: Sequence[Run]) -> float:
    """Returns the standard error of the mean difference of last accuracies, which share seeds; 0 for one seed."""
    apart = [one.fresh[-1] - other.fresh[-1] for one, other in zip(runs, others, strict=True)]
    return stdev(apart) / sqrt(len(apart)) if len(apart) > 1 else 0.0


def largest_error(sizes: Sequence[int]) -> float:
    """Returns how far the mean of the shares' accuracies can be from
    the accuracy on all images, whichever answers are right."""
    images = sum(sizes)
    return sum(max(0.0, 1 / len(sizes) - n / images) for n in sizes)
