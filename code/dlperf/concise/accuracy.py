"""As good on k devices? A small ResNet under DistributedDataParallel, and what can cost it accuracy, one by one.

The chapter *Multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import update_bn
from torch.utils.data import DistributedSampler

from dlperf.models import resnet
from dlperf.multigpu import batch_size
from dlperf.multigpu.datasets import Data
from dlperf.multigpu.group import Group, device_of
from dlperf.multigpu.normalisation import Synchronised

WIDTHS = (8, 16)
"""Channels of the blocks; all but the first halve height and width."""


@dataclass(frozen=True)
class Recipe:
    """How to train: ``batch`` examples of all devices together a step, ``epochs`` times through the data.

    The learning rate rises over ``warm_up`` epochs to ``rate`` and stays, or falls to zero where it is to ``decay``.
    Without ``reshuffle`` nobody calls `set_epoch`; without ``split`` each device goes through all data; without
    ``even`` the first device has nearly all of each epoch's last batch. ``initial`` is the deviation of all weights
    at the start; None is PyTorch's choice. ``synchronised`` batch norm is over all devices. A network is tested after
    the last epoch, and where ``watched`` after each.
    """

    batch: int = 64
    rate: float = 0.1
    epochs: int = 5
    warm_up: float = 0
    decay: bool = False
    reshuffle: bool = True
    split: bool = True
    even: bool = True
    synchronised: bool = False
    initial: float | None = None
    watched: bool = False


@dataclass(frozen=True)
class Run:
    """The test accuracy after one or more epochs, by the running statistics of device 0 and by ``fresh`` ones."""

    running: list[float]
    fresh: list[float]


class SmallResNet(nn.Module):
    """ResNet's blocks, one for each of `WIDTHS`: images (batch, 1, 8, 8) -> ten scores each."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(resnet.convolution(1, WIDTHS[0], 3), nn.ReLU())
        before = (WIDTHS[0], *WIDTHS)
        ends = zip(before, WIDTHS, strict=False)
        self.blocks = nn.Sequential(*(resnet.Block(a, b, 1 if a == b else 2) for a, b in ends))
        self.head = nn.Linear(WIDTHS[-1], 10)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(images)).mean(dim=(2, 3)))


def network(recipe: Recipe, seed: int) -> nn.Module:
    """Returns the network before its first step, the same on every device."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = SmallResNet()
        if recipe.initial is not None:
            for weights in net.parameters():
                if weights.dim() > 1:
                    nn.init.normal_(weights, std=recipe.initial)
    return synchronised(net) if recipe.synchronised else net


def synchronised(net: nn.Module) -> nn.Module:
    """Returns the network with each batch norm over all processes: `nn.SyncBatchNorm.convert_sync_batchnorm`."""
    for name, child in net.named_children():
        if isinstance(child, nn.BatchNorm2d):
            setattr(net, name, Synchronised(child.num_features))
        else:
            synchronised(child)
    return net


def rate_at(recipe: Recipe, step: int, steps: int) -> float:
    """Returns the learning rate of a step of so many."""
    rising = recipe.warm_up / recipe.epochs * steps
    if step < rising:
        return recipe.rate * (step + 1) / ceil(rising)
    falling = (steps - step) / (steps - rising) if recipe.decay else 1.0
    return recipe.rate * falling


def shares(
    recipe: Recipe,
    examples: int,
    rank: int,
    k: int,
    seed: int,
    epoch: int,
) -> list[list[int]]:
    """Returns which examples a device takes in each step of an epoch."""
    whole: Any = range(examples)  # only their number matters
    if recipe.split:
        sampler: Any = DistributedSampler(whole, k, rank, seed=seed)
    else:
        sampler = DistributedSampler(whole, 1, 0, seed=seed + 1000 * rank)
    if recipe.reshuffle:
        sampler.set_epoch(epoch)
    order, each = list(sampler), recipe.batch // k
    found = [order[i : i + each] for i in range(0, len(order), each)]
    if not recipe.even and rank > 0:
        found[-1] = found[-1][:1]
    return found


def train(net: nn.Module, recipe: Recipe, data: Data, rank: int, k: int, seed: int) -> Run:
    """Trains a network on device ``rank`` of k, and returns how well it did; on device 0 alone it is tested."""
    model = DistributedDataParallel(net) if k > 1 else net
    optimizer = torch.optim.SGD(model.parameters(), recipe.rate, momentum=0.9)
    run, done = Run([], []), 0
    for epoch in range(recipe.epochs):
        parts = shares(recipe, len(data.labels), rank, k, seed, epoch)
        model.train()
        for part in parts:
            optimizer.param_groups[0]["lr"] = rate_at(recipe, done, recipe.epochs * len(parts))
            loss = F.cross_entropy(model(data.images[part]), data.labels[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
        if rank == 0 and (recipe.watched or epoch == recipe.epochs - 1):
            run.running.append(accuracy(net, data))
            run.fresh.append(accuracy(with_fresh_statistics(net, data), data))
    return run


@torch.no_grad()
def accuracy(net: nn.Module, data: Data) -> float:
    """Returns which share of the test images gets its highest score for the right class."""
    net.eval()
    return (net(data.test_images).argmax(1) == data.test_labels).float().mean().item()


def with_fresh_statistics(net: nn.Module, data: Data) -> nn.Module:
    """Returns a network of the same weights, with the statistics that they give the whole training set."""
    with torch.random.fork_rng(devices=[]):
        plain = SmallResNet().to(data.labels.device)  # not a copy: synchronised norms would wait for other ranks
    plain.load_state_dict(net.state_dict())
    update_bn(data.images.split(250), plain)
    return plain


def runs(rank: int, size: int, recipe: Recipe, k: int, seeds: Sequence[int]) -> dict[int, Run]:
    """Returns the runs on k devices, by seed: on one, those that fell to process ``rank``; on ``size``, at rank 0 all.

    Raises ValueError for another k, or one that does not divide the batch.
    """
    if k not in (1, size) or recipe.batch % k:
        raise ValueError(f"k is 1 or {size} here, and divides the batch of {recipe.batch}, got {k}")
    device = device_of(rank, size)
    data, found = batch_size.digits(device), {}
    member, own = (rank, seeds) if k > 1 else (0, seeds[rank::size])
    for seed in own:
        found[seed] = train(network(recipe, seed).to(device), recipe, data, member, k, seed)
    return found if member == 0 else {}


def gathered(group: Group, recipe: Recipe, k: int, seeds: Sequence[int]) -> list[Run]:
    """Returns the runs of all seeds on k devices of a group, in order."""
    found: dict[int, Run] = {}
    for part in group.run(runs, recipe, k, list(seeds)):
        found |= part
    return [found[seed] for seed in seeds]
