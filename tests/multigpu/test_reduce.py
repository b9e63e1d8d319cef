"""The three ways to add up a tensor over all ranks, against the backend's own all-reduce."""

from __future__ import annotations

import pytest
import torch

from dlperf.multigpu.launching import launch
from dlperf.multigpu.reduce import WAYS
from tests.multigpu.reducing import everything


@pytest.fixture(scope="module")
def three():
    return launch(everything, 3)


def test_sums_are_the_library_s(three):
    told = [sums for sums, _, _ in three]
    assert [len(each) for each in told] == [3 * 42, 2 * 42, 42]
    assert {what for each in told for what in each} == {""}


@pytest.mark.parametrize("name", WAYS)
def test_all_ranks_hold_the_same_bits(three, name):
    first, *others = (found[name] for _, found, _ in three)
    assert all(torch.equal(first, other) for other in others)


@pytest.mark.parametrize("name", WAYS)
def test_what_cannot_be_changed_in_place_is_refused(three, name):
    for _, _, said in three:
        assert "contiguous" in said[name]
