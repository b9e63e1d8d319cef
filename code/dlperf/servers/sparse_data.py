"""Examples of which each has few of many features, as in logs of clicks, and logistic regression on them.

Made from a seed, nothing is downloaded. Which features an example has follows a power law: a few are in most
examples, most are in hardly any. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor


class Examples(NamedTuple):
    """Examples in compressed sparse rows (CSR).

    Example ``i`` has the ``features[starts[i]:starts[i + 1]]``, each once and in order, with ``values`` beside them;
    of all its values the squares add up to 1. ``labels`` are 0 or 1. Features and starts are int64, the rest float64.
    """

    starts: NDArray[np.int64]
    features: NDArray[np.int64]
    values: NDArray[np.float64]
    labels: NDArray[np.float64]


class Data(NamedTuple):
    """Examples to train on and to test on, the number of features, and the weights that the labels were drawn by."""

    train: Examples
    test: Examples
    features: int
    truth: NDArray[np.float64]


def clicks(
    train: int = 20_000,
    test: int = 5_000,
    features: int = 20_000,
    drawn: int = 30,
    exponent: float = 1.1,
    seed: int = 0,
) -> Data:
    """Returns examples whose labels are drawn by a logistic model.

    Each of an example's ``drawn`` draws is the r-th feature with a probability in proportion to r ** -``exponent``
    (Zipf's law); what is drawn twice counts once. Raises ValueError unless all numbers are positive.
    """
    if min(train, test, features, drawn, exponent) <= 0:
        raise ValueError(f"all numbers are positive, got {train=}, {test=}, {features=}, {drawn=}, {exponent=}")
    draw = np.random.default_rng(seed)
    chances = np.arange(1.0, features + 1) ** -exponent
    truth = 3.0 * draw.standard_normal(features)
    chances /= chances.sum()
    own = _examples(draw, train, drawn, chances, truth)
    return Data(own, _examples(draw, test, drawn, chances, truth), features, truth)


def _examples(draw: np.random.Generator, n: int, drawn: int, chances: Any, truth: Any) -> Examples:
    found = np.sort(draw.choice(len(chances), (n, drawn), p=chances), axis=1)
    fresh = np.diff(found, axis=1, prepend=-1) > 0
    counts = fresh.sum(axis=1)
    starts = np.concatenate([[0], counts.cumsum()])
    chosen, values = found[fresh], np.repeat(counts**-0.5, counts)
    scores = np.add.reduceat(values * truth[chosen], starts[:-1])
    labels = (draw.random(n) < 1 / (1 + np.exp(-scores))).astype(np.float64)
    return Examples(starts, chosen, values, labels)


def full(train: int = 2_000, test: int = 1_000, features: int = 256, seed: int = 0) -> Data:
    """Returns examples that have all features, with normal values; their labels are drawn by a logistic model."""
    draw = np.random.default_rng(seed)
    truth = 10.0 * draw.standard_normal(features)
    return Data(_full(draw, train, truth), _full(draw, test, truth), features, truth)


def _full(draw: np.random.Generator, n: int, truth: NDArray[np.float64]) -> Examples:
    values = draw.standard_normal((n, len(truth)))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    labels = (draw.random(n) < 1 / (1 + np.exp(-(values @ truth)))).astype(np.float64)
    return Examples(np.arange(n + 1) * len(truth), np.tile(np.arange(len(truth)), n), values.ravel(), labels)


@dataclass(frozen=True)
class Batch:
    """Some examples, ready to compute with: of its k values, ``values[j]`` is of the ``row[j]``-th example.

    It is that of the feature ``features[place[j]]``; these are all that the examples have, each once and in order.
    """

    features: Tensor
    place: Tensor
    row: Tensor
    values: Tensor
    labels: Tensor


def batch(examples: Examples, chosen: Any) -> Batch:
    """Returns the ``chosen`` examples as a batch."""
    counts = np.diff(examples.starts)[chosen]
    row = np.repeat(np.arange(len(counts)), counts)
    before = np.concatenate([[0], counts.cumsum()[:-1]])
    at = np.repeat(examples.starts[chosen] - before, counts) + np.arange(counts.sum())
    features, place = np.unique(examples.features[at], return_inverse=True)
    arrays = features, place, row, examples.values[at], examples.labels[chosen]
    return Batch(*map(torch.from_numpy, arrays))


def scores(batch: Batch, weights: Tensor) -> Tensor:
    """Returns the scores of a batch's examples, from the weights of its features."""
    found = torch.zeros(len(batch.labels), dtype=weights.dtype)
    return found.index_add(0, batch.row, batch.values * weights[batch.place])


def loss(batch: Batch, weights: Tensor) -> Tensor:
    """Returns the mean cross-entropy of a batch, in nats, from the weights of its features."""
    return F.binary_cross_entropy_with_logits(scores(batch, weights), batch.labels)


def gradient(batch: Batch, weights: Tensor) -> Tensor:
    """Returns the gradient of the loss by the weights of the batch's features: of all others it is zero."""
    errors = torch.sigmoid(scores(batch, weights)) - batch.labels
    slopes = batch.values * errors[batch.row] / len(batch.labels)
    return torch.zeros_like(weights).index_add(0, batch.place, slopes)


def test_loss(data: Data, weights: Tensor) -> float:
    """Returns the mean cross-entropy of the test examples, in nats, from the weights of all features."""
    whole = batch(data.test, np.arange(len(data.test.labels)))
    return loss(whole, weights[whole.features]).item()
