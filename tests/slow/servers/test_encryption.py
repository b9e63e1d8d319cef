"""Rounds with keys and without, over the same links: they take turns, and each pulls what was pushed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from dlperf.network import GIGABIT, unavailable
from dlperf.servers import encryption


@pytest.mark.skipif(bool(unavailable()), reason="this system makes no network namespaces")
def test_both_ways_take_turns_and_no_less_than_their_links():
    size = 2**20
    rounds = encryption.measured(size, workers=2, repeats=2)
    assert list(rounds) == ["encrypted", "plain"]
    for taken in rounds.values():
        assert min(taken.samples) > 0.8 * size / GIGABIT  # half of it is pushed to the other host, and half pulled
    cipher = rounds["encrypted"] - rounds["plain"]  # it raises where they did not take turns
    assert len(cipher.samples) == 2


def test_one_cluster_has_keys_and_the_other_none():
    clusters = encryption._clusters(2, "somewhere")
    assert clusters["encrypted"].keys == "somewhere"
    assert clusters["plain"].keys is None
    ports = [{config.scheduler, *config.servers} for config in clusters.values()]
    assert not ports[0] & ports[1]


def test_a_round_pushes_ones_and_pulls_the_sum_of_all_rounds(monkeypatch):
    said = []
    store = SimpleNamespace(
        push=lambda key, value: said.append(("push", key, value.tolist())),
        clock=lambda: said.append(("clock",)),
        pull=lambda key, out: said.append(("pull", key, out is tensors[1])),
    )
    tensors = [torch.ones(2), torch.zeros(2)]
    monkeypatch.setattr(encryption, "_stores", {"plain": store})
    monkeypatch.setattr(encryption, "_values", tensors)
    begun, ended = encryption.take(0, "plain")
    assert begun <= ended
    assert said == [("clock",), ("push", "w", [1.0, 1.0]), ("clock",), ("pull", "w", True)]
