"""Workers were switched on for a table that lies in memory: starting them takes longer than the epoch.

As reported: the documentation says that num_workers > 0 loads in parallel and hides the loading. With 0 an epoch of
my small regression takes some ten milliseconds, with 2 it takes many times that, with 4 even more. Nothing else was
changed. Is the DataLoader broken?
Source: https://github.com/Lightning-AI/pytorch-lightning/issues/17410
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-switched"
TIMED = True


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    rows = torch.randn(12 * 16, 8)
    table = TensorDataset(rows, rows @ torch.randn(8, 1))
    plain = DataLoader(table, batch_size=16)
    parallel = DataLoader(table, batch_size=16, num_workers=4)
    batch = next(iter(plain))
    loader = parallel if fault else plain

    def step(batch: list[Tensor] = batch) -> Tensor:
        inputs, targets = batch
        optimizer.zero_grad()
        loss = (model(inputs) - targets).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def epoch(loader: DataLoader[tuple[Tensor, ...]] = loader) -> float:
        total = torch.zeros(())
        for batch in loader:
            total += step(batch)
        return float(total / len(loader))

    switches = {"num_workers=0": lambda: epoch(plain), "num_workers=4": lambda: epoch(parallel)}
    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader, "epoch": epoch,
        **({"switches": switches} if fault else {}),
    }  # fmt: skip
