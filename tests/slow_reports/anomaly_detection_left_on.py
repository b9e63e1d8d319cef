"""Anomaly detection, switched on to find a NaN, was left on.

As reported: two weeks ago I was chasing a NaN and added a line that somebody in the forum recommended. The NaN is
long fixed. Now a colleague trains the same network from his own script in a third of the time, on a worse computer.
I compared the learning rates, the batch sizes and the versions of PyTorch, all equal.
Source: https://github.com/yenchenlin/nerf-pytorch/issues/42 and https://github.com/icon-lab/SynDiff/issues/43

Changes the global switch `torch.autograd.set_detect_anomaly`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-switched"
TIMED = False


class Rays(nn.Module):
    """Colours along rays from encoded positions."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(30, 64), nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 4)])

    def forward(self, points: Tensor) -> Tensor:
        x = torch.cat([f(points * 2**i) for i in range(5) for f in (torch.sin, torch.cos)], dim=-1)
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        out = self.layers[-1](x)
        weights = torch.softmax(out[..., 3:], dim=1)
        return (weights * out[..., :3].sigmoid()).sum(1)


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    torch.autograd.set_detect_anomaly(fault)
    device = torch.device("cpu")
    model = Rays()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    rays = TensorDataset(torch.rand(512, 8, 3), torch.rand(512, 3))
    loader = DataLoader(rays, batch_size=32, shuffle=True, drop_last=True)
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        points, colours = batch
        optimizer.zero_grad()
        loss = ((model(points) - colours) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def as_it_was() -> Tensor:
        torch.autograd.set_detect_anomaly(False)
        return step()

    def with_the_line_from_the_forum() -> Tensor:
        torch.autograd.set_detect_anomaly(True)
        return step()

    switches = {"without": as_it_was, "with the line": with_the_line_from_the_forum}
    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
        **({"switches": switches} if fault else {}),
    }  # fmt: skip


def shows(names: dict[str, Any]) -> bool:
    """Whether gradients are computed in the mode that keeps a traceback for each operation."""
    seen: list[bool] = []
    handle = names["model"].register_forward_hook(lambda *_: seen.append(torch.is_anomaly_enabled()))
    names["step"]()
    handle.remove()
    return any(seen)
