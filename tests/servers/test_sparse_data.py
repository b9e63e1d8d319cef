"""Sparse examples, and logistic regression on them, against autograd on the same examples as a full matrix."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from dlperf.servers import sparse_data
from dlperf.servers.sparse_data import Examples

SMALL = {"train": 60, "test": 20, "features": 50, "drawn": 8}


def matrix(examples: Examples, features: int) -> torch.Tensor:
    whole = torch.zeros(len(examples.labels), features, dtype=torch.float64)
    for row, (start, end) in enumerate(pairwise(examples.starts)):
        whole[row, examples.features[start:end]] = torch.from_numpy(examples.values[start:end])
    return whole


def test_a_seed_makes_the_same_data_and_another_seed_other_data():
    first, again, other = (sparse_data.clicks(**SMALL, seed=seed) for seed in (1, 1, 2))
    for a, b in zip(first.train + first.test, again.train + again.test, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first.truth, other.truth)


def test_each_example_has_its_features_once_in_order_and_length_one():
    train = sparse_data.clicks(**SMALL).train
    assert len(train.starts) == 61
    assert train.starts[-1] == len(train.features) == len(train.values)
    for start, end in pairwise(train.starts):
        assert end > start
        assert (np.diff(train.features[start:end]) > 0).all()
        assert np.square(train.values[start:end]).sum() == pytest.approx(1)


def test_features_follow_the_power_law():
    train = sparse_data.clicks(4000, 1, 1000, 1, exponent=1.0).train
    counts = np.bincount(train.features, minlength=1000)
    expected = 4000 / np.arange(1, 1001) / (1 / np.arange(1, 1001)).sum()
    assert (abs(counts[:10] - expected[:10]) < 5 * np.sqrt(expected[:10])).all()


def test_what_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="drawn=0"):
        sparse_data.clicks(drawn=0)


@given(st.lists(st.integers(0, 59), min_size=1, max_size=30), st.integers(0, 100))
def test_the_gradient_is_autograd_s(chosen, seed):
    train = sparse_data.clicks(**SMALL).train
    weights = torch.randn(50, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()
    right = F.binary_cross_entropy_with_logits(
        matrix(train, 50)[chosen] @ weights, torch.from_numpy(train.labels[chosen])
    )
    right.backward()
    batch = sparse_data.batch(train, np.array(chosen))
    mine = weights.detach()[batch.features]
    torch.testing.assert_close(sparse_data.loss(batch, mine), right.detach())
    whole = torch.zeros(50, dtype=torch.float64).index_copy(0, batch.features, sparse_data.gradient(batch, mine))
    torch.testing.assert_close(whole, weights.grad)


def test_the_weights_that_labels_were_drawn_by_are_better_than_none():
    data = sparse_data.clicks(100, 2000, 500)
    truth = torch.from_numpy(data.truth)
    assert sparse_data.test_loss(data, truth) < sparse_data.test_loss(data, torch.zeros_like(truth))


def test_full_examples_have_all_features():
    examples = sparse_data.full(7, 2, 5).train
    assert matrix(examples, 5).count_nonzero() == 35
