"""Workers end with every epoch, and the new ones open the archive's index again.

As reported: between two epochs nothing happens for a good while, GPU at zero, then the progress bar runs through at
full speed. An epoch of mine is short, so most of the day is spent in these gaps. More workers make the gap no
shorter. Saving a checkpoint is not it, I took that out.
Source: https://github.com/frank-xwang/RIDE-LongTailRecognition/issues/33
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

LEAF = "slow-border"
TIMED = True
OPENING_S = 0.8
"""Seconds that a process waits when it opens the archive."""


class Archive(Dataset[tuple[Tensor, int]]):
    """Images in one archive, which each process opens when it first reads from it."""

    def __init__(self) -> None:
        self.index: list[int] | None = None

    def __len__(self) -> int:
        return 128

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        if self.index is None:
            time.sleep(OPENING_S)  # the index lies on a network drive
            self.index = list(range(len(self)))
        source = torch.Generator().manual_seed(self.index[number])
        return torch.rand(3, 16, 16, generator=source), number % 10


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = DataLoader(Archive(), batch_size=8, shuffle=True, num_workers=2, persistent_workers=not fault)
    source = torch.Generator().manual_seed(0)
    batch = [torch.rand(8, 3, 16, 16, generator=source), torch.arange(8)]

    def step(batch: list[Tensor] = batch) -> Tensor:
        images, labels = batch
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip
