"""Hogwild with one thread is plain SGD; with two, what is added up atomically or alone is all there."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from dlperf.hardware.locks import mutex
from dlperf.hardware.threads import at_once
from dlperf.servers import hogwild, sparse_data

DATA = sparse_data.clicks(200, 1, 100, 10)


def plain(order: np.ndarray, rate: float) -> np.ndarray:
    weights = torch.zeros(DATA.features, dtype=torch.float64)
    for i in order:
        batch = sparse_data.batch(DATA.train, np.array([i]))
        weights[batch.features] -= rate * sparse_data.gradient(batch, weights[batch.features])
    return weights.numpy()


def test_one_thread_takes_the_steps_of_plain_sgd():
    order, weights = hogwild.orders(200, 1)[0], np.zeros(DATA.features)
    hogwild.sgd(DATA.train, order, weights, 0.5)
    np.testing.assert_allclose(weights, plain(order, 0.5), rtol=1e-12, atol=1e-14)


def test_a_lock_changes_no_bit_of_what_one_thread_does():
    free, locked = (way(DATA.train, DATA.features, 0.5, 1).loss for way in hogwild.WAYS.values())
    assert free == locked


def test_the_loss_is_pytorch_s():
    batch = sparse_data.batch(DATA.train, np.arange(200))
    right = sparse_data.loss(batch, torch.from_numpy(DATA.truth)[batch.features]).item()
    assert hogwild.loss(DATA.train, DATA.truth) == pytest.approx(right)


def test_threads_take_each_example_once():
    together = np.concatenate(hogwild.orders(101, 3))
    assert sorted(together) == list(range(101))


@pytest.mark.parametrize("way", hogwild.WAYS.values())
def test_two_threads_learn(way):
    assert way(DATA.train, DATA.features, 0.5, 2).loss < np.log(2)


def test_one_thread_loses_nothing():
    assert set(hogwild.lost(np.arange(3), threads=1, additions=3000, repeats=5).samples) == {0.0}


def test_who_holds_the_lock_is_alone():
    """All examples are one feature of value 1, so each step depends on the one before, and none may be missed."""
    n = 20_000
    examples = sparse_data.Examples(np.arange(n + 1), np.zeros(n, np.int64), np.ones(n), np.ones(n))
    alone, together = np.zeros(1), np.zeros(1)
    hogwild.sgd(examples, np.arange(n), alone, 1e-3)
    words = mutex()
    shares = hogwild.orders(n, 2)
    at_once([partial(hogwild.sgd_locked, examples, share, together, 1e-3, words) for share in shares])
    assert together[0] == alone[0]  # equal steps, so their order is nothing
