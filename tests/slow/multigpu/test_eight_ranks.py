"""Up to eight ranks: sums against the backend's own, and the gradient against the whole batch's in float64."""

from __future__ import annotations

import pytest
import torch

from dlperf.multigpu import correctness, datasets, training
from dlperf.multigpu.launching import launch
from tests.multigpu.reducing import against_the_library


def test_sums_are_the_library_s():
    told = launch(against_the_library, 8, range(1, 9))
    assert len(told[0]) == 8 * 42
    assert {what for each in told for what in each} == {""}


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_the_gradient_is_the_whole_batch_s(dtype, bound):
    job = datasets.digits(), range(1, 9), [5, 29, 64], dtype, training.whole_gradient
    worst = correctness.worst(launch(correctness.errors, 8, *job))
    assert len(worst) == 8 * 3
    assert max(worst.values()) < bound
