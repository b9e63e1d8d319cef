"""The reported rate is an average since the start, over the preparations of the first step too.

As reported: the number of samples per second that my script prints rises all the time, it has gone from 10 to some
hundreds and does not settle. Why does training become faster and faster? And which one do I put into the table? With
a larger model I get almost the same number.
Source: https://github.com/alpa-projects/alpa/issues/823 and https://github.com/ecmwf/anemoi-core/pull/1254
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-number"
TIMED = True
PREPARATION_S = 0.8
"""Seconds for which the first step waits: kernels are chosen, caches filled."""
WARM_UP = 4


class Forecast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 16, batch_first=True)
        self.out = nn.Linear(16, 1)
        self.prepared = False

    def forward(self, x: Tensor) -> Tensor:
        if not self.prepared:
            time.sleep(PREPARATION_S)
            self.prepared = True
        return self.out(self.lstm(x)[0][:, -1])


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(torch.randn(320, 20, 3), torch.randn(320, 1)), batch_size=16, shuffle=True)
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        series, following = batch
        optimizer.zero_grad()
        loss = nn.functional.huber_loss(model(series), following)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def epoch() -> float:
        """Trains for an epoch, and returns the samples per second that are reported at its end."""
        start, seen = time.perf_counter(), 0
        for turn, batch in enumerate(loader):
            if not fault and turn == WARM_UP:
                start, seen = time.perf_counter(), 0
            step(batch)
            seen += len(batch[0])
        return seen / (time.perf_counter() - start)

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader, "epoch": epoch,
    }  # fmt: skip
