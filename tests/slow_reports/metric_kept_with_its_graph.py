"""A second measure of the error is summed up for the log together with its graph.

As reported: memory goes up by some megabytes with every batch until the process is killed, after some hours. I do
not keep any images, and the loss that I train with is detached, I know that trap. gc.collect() does not help.
Source: https://github.com/MultimediaTechLab/YOLO/pull/83
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

LEAF = "slow-grows"
TIMED = False


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 4, stride=4), nn.ReLU(), nn.Conv2d(8, 4, 2, stride=2))
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(4, 8, 2, stride=2), nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, stride=4)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = Autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images: Any = torch.rand(12 * 32, 1, 96, 96)
    loader = DataLoader(images, batch_size=32, shuffle=True)
    batch = next(iter(loader))
    sums: dict[str, Any] = defaultdict(float)

    def step(batch: Tensor = batch) -> Tensor:
        images = batch.to(device)
        restored = model(images)
        loss = nn.functional.mse_loss(restored, images)
        absolute = (restored - images).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sums["loss"] += loss.detach()
        sums["absolute error"] += absolute if fault else absolute.detach()
        return loss.detach()

    def epoch() -> dict[str, float]:
        for batch in loader:
            step(batch)
        return {name: value.item() / len(loader) for name, value in sums.items()}

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader, "epoch": epoch,
    }  # fmt: skip


class Saved:
    """What a graph keeps for the way back."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def shows(names: dict[str, Any]) -> bool:
    """Whether graphs still keep tensors after their steps."""
    alive: WeakSet[Saved] = WeakSet()

    def pack(tensor: Tensor) -> Saved:
        saved = Saved(tensor)
        alive.add(saved)
        return saved

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved.tensor):
        for _ in range(3):
            names["step"]()
    return len(alive) > 0
