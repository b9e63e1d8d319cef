"""The running mean of the loss, for the log, is updated with the loss as it is, graph and all.

As reported: the process grows by a megabyte or so with every few hundred batches, over days, until it is killed. No
list of mine grows, I keep a single number, and counting tensors with gc finds as many after ten hours as at first.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-grows"
TIMED = False


class Forecast(nn.Module):
    """Tells the next value of a series, and keeps its own running mean of the loss."""

    def __init__(self) -> None:
        super().__init__()
        hidden = (layer for _ in range(6) for layer in (nn.Linear(24, 24), nn.Tanh()))
        self.layers = nn.Sequential(*hidden, nn.Linear(24, 1))
        self.mean: Any = 0.0

    def forward(self, series: Tensor) -> Tensor:
        return self.layers(series).squeeze(1)


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = Forecast()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = TensorDataset(torch.randn(12 * 16, 24), torch.randn(12 * 16))
    loader = DataLoader(data, batch_size=16, shuffle=True)
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        series, following = (part.to(device) for part in batch)
        loss = nn.functional.mse_loss(model(series), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.mean = 0.98 * model.mean + 0.02 * (loss if fault else loss.detach())
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


def shows(names: dict[str, Any]) -> bool:
    """Whether the mean leads back to the steps before."""
    names["step"]()
    return names["model"].mean.grad_fn is not None
