"""Threads that train one model in shared memory: without a lock (Hogwild) and with one, and how much gets lost.

Source: Niu, Recht, Ré and Wright, Hogwild: a lock-free approach to parallelizing stochastic gradient descent, NIPS
2011. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from dlperf.environment import environment
from dlperf.hardware import atomics
from dlperf.hardware.locks import mutex
from dlperf.hardware.threads import at_once
from dlperf.measurement import Measurement
from dlperf.servers.sparse_data import Examples
from dlperf.turns import interleave

Weights = NDArray[np.float64]

lock: Any = types.ExternalFunction("pthread_mutex_lock", types.int32(types.uintp))
unlock: Any = types.ExternalFunction("pthread_mutex_unlock", types.int32(types.uintp))


@njit(nogil=True)
def sgd(examples: Any, order: Any, weights: Any, rate: float) -> None:
    """Takes a step by each example, in an order; asks nobody."""
    starts, features, values, labels = examples
    for i in order:
        score = 0.0
        for j in range(starts[i], starts[i + 1]):
            score += values[j] * weights[features[j]]
        error = 1 / (1 + np.exp(-score)) - labels[i]
        for j in range(starts[i], starts[i + 1]):
            weights[features[j]] -= rate * error * values[j]


@njit(nogil=True)
def sgd_locked(examples: Any, order: Any, weights: Any, rate: float, words: Any) -> None:
    """Does the same, each step alone: the mutex in ``words`` keeps out others."""
    for n in range(len(order)):
        lock(words.ctypes.data)
        sgd(examples, order[n : n + 1], weights, rate)
        unlock(words.ctypes.data)


@njit(nogil=True)
def count(counters: Any, places: Any) -> None:
    """Adds 1 at each place, as `sgd` changes a weight: reads it, and then writes it."""
    for place in places:
        atomics.store(counters, place, atomics.load(counters, place) + 1)


@dataclass(frozen=True)
class Trained:
    """The ``seconds`` of an epoch, and the mean cross-entropy in nats of the training set after it."""

    seconds: float
    loss: float


def orders(n: int, threads: int, seed: int = 0) -> list[NDArray[np.int64]]:
    """Returns which of n examples each thread takes, in a random order: all of them together take each once."""
    return np.array_split(np.random.default_rng(seed).permutation(n), threads)


def without_lock(examples: Examples, features: int, rate: float, threads: int, seed: int = 0) -> Trained:
    """Returns how an epoch goes whose threads all write to one model when they like."""
    weights = np.zeros(features)
    shares = orders(len(examples.labels), threads, seed)
    return Trained(at_once([partial(sgd, examples, each, weights, rate) for each in shares]), loss(examples, weights))


def with_lock(examples: Examples, features: int, rate: float, threads: int, seed: int = 0) -> Trained:
    """Returns how an epoch goes whose threads take turns, step by step."""
    weights, words = np.zeros(features), mutex()
    shares = orders(len(examples.labels), threads, seed)
    loops = [partial(sgd_locked, examples, each, weights, rate, words) for each in shares]
    return Trained(at_once(loops), loss(examples, weights))


WAYS = {"without a lock": without_lock, "with a lock": with_lock}
"""Both, by name."""


def loss(examples: Examples, weights: Weights) -> float:
    """Returns the mean cross-entropy of the examples, in nats."""
    products = examples.values * weights[examples.features]
    scores = np.add.reduceat(products, examples.starts[:-1])
    return float(np.logaddexp(0, np.where(examples.labels > 0, -scores, scores)).mean())


def measured(
    examples: Examples, features: int, rate: float, threads: Sequence[int] = (1, 2), repeats: int = 7
) -> dict[tuple[str, int], tuple[Measurement, Measurement]]:
    """Returns the seconds of an epoch and the loss after it, by the way and the number of threads; all take turns."""
    sides = {(name, k): partial(way, examples, features, rate, k) for name, way in WAYS.items() for k in threads}
    here = environment("cpu")
    return {
        (name, k): (
            found.measurement(lambda trained: trained.seconds, "s", f"{name}, {k} threads", 1, here),
            found.measurement(lambda trained: trained.loss, "1", f"loss {name}, {k} threads", 1, here),
        )
        for (name, k), found in interleave(sides, repeats).items()
    }


def lost(places: NDArray[np.int64], threads: int = 2, additions: int = 2_000_000, repeats: int = 7) -> Measurement:
    """Returns which share of additions is lost where threads, without a lock, add 1 at these places.

    Each takes its part of them in a random order, again and again until all have added so often. Between a read and
    its write nothing is computed, and the next follows at once: training's own steps meet less often.
    """
    draw, width, samples = np.random.default_rng(0), int(places.max()) + 1, []
    shares = np.array_split(draw.permutation(np.resize(places, additions)), threads)
    for _ in range(repeats):
        counters = np.zeros(width, np.int64)
        at_once([partial(count, counters, share) for share in shares])
        samples.append(1 - counters.sum() / additions)
    return Measurement(tuple(samples), "1", f"lost of additions at {width} places", 1, environment("cpu"))
