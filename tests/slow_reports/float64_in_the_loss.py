"""The loss computes in float64, because the scales of the targets come from NumPy.

As reported: forward in half a millisecond, as it should be, and then the loss and backward take many times that,
twice what a colleague measures who standardizes the targets beforehand. All parameters are float32, inputs and
targets too, I checked, and so is what the model returns.
Source: https://github.com/ain-soph/trojanzoo/issues/72 (weights of a loss that came as float64)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-waste"
TIMED = False


class Energy(nn.Module):
    """The energy score of an ensemble of forecasts: distance to the truth, less half the ensemble's spread."""

    def __init__(self, scale: Tensor) -> None:
        super().__init__()
        self.scale = scale  # no buffer, so that it is in no state_dict

    def forward(self, ensemble: Tensor, truth: Tensor) -> Tensor:
        scaled, target = ensemble / self.scale, truth / self.scale
        error = (scaled - target[:, None]).norm(dim=-1).mean()
        spread = (scaled[:, :, None] - scaled[:, None, :]).square().sum(-1).add(1e-6).sqrt().mean()
        return error - spread / 2


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Sequential(nn.Linear(10, 64), nn.ELU(), nn.Linear(64, 64 * 6), nn.Unflatten(1, (64, 6)))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    table = np.random.default_rng(0).normal(size=(14 * 32, 16)) * np.arange(1, 17)
    inputs, targets = (torch.from_numpy(part.astype(np.float32)) for part in np.split(table, [10], axis=1))
    scale = torch.from_numpy(table[:, 10:].std(axis=0))
    criterion = Energy(scale if fault else scale.float())
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=32, shuffle=True)
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        x, y = batch
        optimizer.zero_grad()
        loss = criterion(model(x), y).float()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


class Doubles(TorchDispatchMode):
    """Counts the elements of float64 tensors that operators return."""

    elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and result.dtype == torch.float64:
            self.elements += result.numel()
        return result


def shows(names: dict[str, Any]) -> bool:
    """Whether a step computes with more than a handful of float64 numbers."""
    with Doubles() as doubles:
        names["step"]()
    return doubles.elements > 100
