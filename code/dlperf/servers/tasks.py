"""Training tasks for workers of a parameter server: sparse logistic regression and a dense ResNet.

Workers push their share of the mean gradient, so that what is pushed in a round adds up to the gradient of all
workers' batches together. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from dlperf.kvstore import SGD, Momentum, Store
from dlperf.models.resnet import WIDTHS, Block, convolution
from dlperf.servers import sparse_data
from dlperf.servers.sparse_data import Data


class Images(NamedTuple):
    """Images of shape (n, 3, 8, 8), float32 from -0.5 to 0.5, and labels of shape (n,), int64 from 0 to 9."""

    images: Tensor
    labels: Tensor
    test_images: Tensor
    test_labels: Tensor


@cache
def digits() -> Images:
    """Returns scikit-learn's digits as they are, grey as three equal colours: 1,000 to train on and 200 to test on.

    They are read once in each process. Raises ImportError without scikit-learn.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError("scikit-learn, which has the digits, is not installed: pip install scikit-learn") from None
    found = load_digits()
    order = torch.randperm(len(found.target), generator=torch.Generator().manual_seed(0))
    grey = torch.from_numpy(found.images).float().div(16).sub(0.5)[order].unsqueeze(1)
    images, labels = grey.expand(-1, 3, -1, -1).contiguous(), torch.from_numpy(found.target).long()[order]
    return Images(images[:1000], labels[:1000], images[1000:1200], labels[1000:1200])


clicks: Callable[[int], Data] = cache(lambda seed: sparse_data.clicks(seed=seed))
full: Callable[[int], Data] = cache(lambda seed: sparse_data.full(train=5_000, seed=seed))
"""The data of `Sparse` and of `Full`, made once in each process."""


class Task(Protocol):
    """What is trained. ``key`` tells one training of a store from the next; a batch is whatever `draw` returns.

    ``watched`` seconds pass between two snapshots of the weights.
    """

    watched: ClassVar[float]

    def create(self, store: Store, key: str) -> None:
        """Has the store keep the weights."""

    def draw(self, generator: np.random.Generator) -> Any:
        """Returns a worker's next batch."""

    def pull(self, store: Store, key: str, batch: Any) -> Tensor:
        """Returns the weights that a batch needs."""

    def gradient(self, batch: Any, weights: Tensor) -> Tensor:
        """Returns the gradient of a batch's mean loss by these weights."""

    def push(self, store: Store, key: str, batch: Any, gradient: Tensor) -> None:
        """Has the store take a step by a worker's share of the gradient."""

    def snapshot(self, store: Store, key: str) -> Tensor:
        """Returns all weights."""

    def loss(self, weights: Tensor) -> float:
        """Returns the mean cross-entropy of the test examples, in nats, from all weights."""


@dataclass(frozen=True)
class Sparse:
    """Logistic regression on `sparse_data.clicks`: of the features of ``batch`` examples the rows of a table."""

    watched: ClassVar[float] = 0.15

    rate: float = 20.0
    batch: int = 64
    seed: int = 0

    @property
    def data(self) -> Data:
        return clicks(self.seed)

    def create(self, store: Store, key: str) -> None:
        store.create_table(key, torch.zeros(self.data.features, 1, dtype=torch.float64), SGD(self.rate))

    def draw(self, generator: np.random.Generator) -> sparse_data.Batch:
        train = self.data.train
        return sparse_data.batch(train, generator.integers(len(train.labels), size=self.batch))

    def pull(self, store: Store, key: str, batch: sparse_data.Batch) -> Tensor:
        return store.pull_rows(key, batch.features).squeeze(1)

    def gradient(self, batch: sparse_data.Batch, weights: Tensor) -> Tensor:
        return sparse_data.gradient(batch, weights)

    def push(self, store: Store, key: str, batch: sparse_data.Batch, gradient: Tensor) -> None:
        store.push_rows(key, batch.features, gradient[:, None] / store.config.workers)

    def snapshot(self, store: Store, key: str) -> Tensor:
        return store.pull(key).squeeze(1)

    def loss(self, weights: Tensor) -> float:
        return sparse_data.test_loss(self.data, weights)


@dataclass(frozen=True)
class Full(Sparse):
    """The same regression on examples that have all features: the same number of workers, and nothing sparse.

    Features are fewer and all alike, so the rate at which it learns fastest is higher.
    """

    rate: float = 400.0

    @property
    def data(self) -> Data:
        return full(self.seed)


@dataclass(frozen=True)
class Dense:
    """A narrow ResNet-18 on scikit-learn's digits, ``batch`` a worker and step; the store has one tensor.

    The servers take a step of momentum for each round where all wait for all, and else for each push: then velocity
    decays with every push, so ``momentum`` is a shorter memory there, unless it is made longer by as much.

    Each worker normalises by its own batch, and the test by its own images.
    """

    watched: ClassVar[float] = 0.6

    rate: float = 0.1
    momentum: float = 0.9
    batch: int = 16
    seed: int = 0

    def create(self, store: Store, key: str) -> None:
        store.create(key, _initial(self.seed), Momentum(self.rate, self.momentum))

    def draw(self, generator: np.random.Generator) -> tuple[Tensor, Tensor]:
        chosen = torch.from_numpy(generator.integers(len(digits().labels), size=self.batch))
        return digits().images[chosen], digits().labels[chosen]

    def pull(self, store: Store, key: str, batch: Any) -> Tensor:
        return store.pull(key)

    def gradient(self, batch: tuple[Tensor, Tensor], weights: Tensor) -> Tensor:
        images, labels = batch
        net = network(self.seed, weights)
        loss = F.cross_entropy(net(images), labels)
        return torch.cat([each.flatten() for each in torch.autograd.grad(loss, list(net.parameters()))])

    def push(self, store: Store, key: str, batch: Any, gradient: Tensor) -> None:
        store.push(key, gradient / store.config.workers)

    def snapshot(self, store: Store, key: str) -> Tensor:
        return store.pull(key)

    @torch.no_grad()
    def loss(self, weights: Tensor) -> float:
        net = network(self.seed, weights)
        return F.cross_entropy(net(digits().test_images), digits().test_labels).item()


def network(seed: int, weights: Tensor | None = None) -> nn.Module:
    """Returns the network before its first step, or with these weights; one of each seed is there, used again."""
    initial, net = _initial(seed), _fresh(seed)  # the initial weights are taken before they can change
    vector_to_parameters(initial if weights is None else weights, net.parameters())
    return net


def narrow_resnet(classes: int = 10) -> nn.Module:
    """Returns `dlperf.models.resnet.ResNet18` with a quarter of its channels: four workers share few cores."""
    widths = [width // 4 for width in WIDTHS]
    blocks = [
        nn.Sequential(Block(ins, outs, 1 if n == 0 else 2), Block(outs, outs))
        for n, (ins, outs) in enumerate(zip([widths[0], *widths], widths, strict=False))
    ]
    stem = nn.Sequential(convolution(3, widths[0], 3), nn.ReLU())
    return nn.Sequential(stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], classes))


@cache
def _fresh(seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return narrow_resnet()


@cache
def _initial(seed: int) -> Tensor:
    return parameters_to_vector(_fresh(seed).parameters()).detach().clone()
