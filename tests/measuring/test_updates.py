"""What an update costs: which updates are taken, and what lies between them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dlperf.measuring import updates
from dlperf.models.steps import Step


def small() -> Step:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return Step(model, optimizer, torch.ones(4, 3), torch.zeros(4, dtype=torch.int64))


def test_plain_and_fused_updates_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "uncached", lambda device: 16)
    called: list[str] = []
    step = small()
    real = torch.optim.AdamW

    class Watched(real):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.kind = "fused" if options.get("fused") else "plain"

        def step(self, *args: Any) -> Any:
            called.append(self.kind)
            return super().step(*args)

    watched = Step(step.model, Watched(step.model.parameters(), lr=1e-3), step.inputs, step.targets)
    before = [weight.clone() for weight in step.model.parameters()]
    found = updates.costs(watched, "cpu", repeats=2)
    assert set(found) == {"again", "later", "fused"}
    assert all(len(m.samples) == 2 and m.unit == "s" for m in found.values())
    assert (called.count("plain"), called.count("fused")) == (9, 3)  # three rounds, of which the first warms up
    assert all((weight != old).all() for weight, old in zip(step.model.parameters(), before, strict=True))
