"""Pieces that have to be fetched: the same as those in memory, each after its wait."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import DataLoader

from dlperf.models import loading, text


def test_a_loader_gives_the_text_s_own_pieces_in_order() -> None:
    inputs, targets = text.batch(6, 10)
    batches = list(DataLoader(loading.Fetched(6, 10), batch_size=3, num_workers=1))
    assert torch.equal(torch.cat([x for x, _ in batches]), inputs)
    assert torch.equal(torch.cat([y for _, y in batches]), targets)


def test_each_piece_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(loading, "sleep", slept.append)
    data = loading.Fetched(3, 10, latency=0.5)
    assert len([data[i] for i in range(len(data))]) == 3
    assert slept == [0.5] * 3
