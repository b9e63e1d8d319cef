"""The data set keeps each sample that it has loaded, cut out anew at random each time, so that none serves twice.

As reported: RAM fills up during training until the machine swaps and everything crawls. I keep no losses and no
outputs, and a loop over one batch that I saved to a file stays flat for hours.
Source: https://github.com/msamogh/nonechucks/issues/13
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

LEAF = "slow-grows"
TIMED = False
SIDE = 128


class Crops(Dataset[tuple[Tensor, int]]):
    """Pieces of one large picture, at places drawn at random."""

    def __init__(self, keeps: bool) -> None:
        self.picture = torch.rand(3, 2 * SIDE, 2 * SIDE)
        self.keeps = keeps
        self.cache: dict[tuple[int, int, int], Tensor] = {}

    def __len__(self) -> int:
        return 12 * 8

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        top, left = torch.randint(SIDE, (2,)).tolist()
        key = (number, top, left)
        piece = self.cache.get(key)
        if piece is None:
            piece = self.picture[:, top : top + SIDE, left : left + SIDE].clone()
        if self.keeps:
            self.cache[key] = piece
        return piece, number % 4


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Sequential(nn.Conv2d(3, 8, 8, stride=8), nn.Tanh(), nn.Flatten(), nn.Linear(8 * (SIDE // 8) ** 2, 4))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
    loader = DataLoader(Crops(keeps=fault), batch_size=8, shuffle=True)
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        pieces, labels = (part.to(device) for part in batch)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(pieces), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


def shows(names: dict[str, Any]) -> bool:
    """Whether an epoch leaves samples in the data set."""
    for batch in names["loader"]:
        names["step"](batch)
    return len(names["loader"].dataset.cache) > 0
