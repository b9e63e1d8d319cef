"""Rounds with keys and without: each is counted by the clock and of processors, and pulls what was pushed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from dlperf.environment import cores
from dlperf.servers import encryption

SIZE = 2**20


@pytest.fixture(scope="module")
def costs():
    return encryption.measured(SIZE, servers=2, workers=2, repeats=2)


def test_both_ways_take_turns(costs):
    assert list(costs) == ["encrypted", "plain"]
    for cost in costs.values():
        assert min(cost.seconds.samples) > 0
        assert min(cost.processors.samples) > 0
        assert cost.by_cores.median == pytest.approx(cost.processors.median / cores())
    spared = costs["encrypted"].by_cores - costs["plain"].by_cores  # it raises where they did not take turns
    assert len(spared.samples) == 2


def test_a_round_pushes_ones_and_pulls_the_sum_of_all_rounds(monkeypatch):
    said = []
    store = SimpleNamespace(
        push=lambda key, value: said.append(("push", key, value.tolist())),
        clock=lambda: said.append(("clock",)),
        pull=lambda key, out: said.append(("pull", key, out is tensors[1])),
    )
    tensors = [torch.ones(2), torch.zeros(2)]
    monkeypatch.setattr(encryption, "_stores", {"plain": store})
    monkeypatch.setattr(encryption, "_tensors", tensors)
    begun, ended = encryption.take(0, "plain")
    assert begun <= ended
    assert said == [("push", "w", [1.0, 1.0]), ("clock",), ("pull", "w", True)]
