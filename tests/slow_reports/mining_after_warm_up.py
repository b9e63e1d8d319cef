"""Once the warm-up is over, each step searches the whole training set for its hardest negatives.

As reported: training starts quickly and then falls off a cliff: from one iteration to the next it takes more than ten
times as long, and it stays there. Losses look normal, memory is flat, the machine is mine alone and it is not hot.
After a restart it is quick again, until about the same iteration.
Source: https://github.com/mush42/optispeech/issues/6
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-later"
TIMED = True
WARM_UP = 14
"""Steps with random negatives, before hard ones are used."""


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Sequential(nn.Conv1d(4, 16, 5), nn.ReLU(), nn.Conv1d(16, 16, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    signals = torch.randn(8000, 4, 64)
    loader = DataLoader(TensorDataset(signals[:288], torch.arange(288)), batch_size=8, shuffle=True)
    batch = next(iter(loader))
    bank = torch.empty(0)
    turns = 0

    @torch.no_grad()
    def embed_everything() -> Tensor:
        return torch.cat([model(part) for part in signals.split(128)])

    def negatives(anchors: Tensor, numbers: Tensor) -> Tensor:
        """One negative for each anchor: at random at first, later the closest that is another signal."""
        nonlocal bank
        if turns <= WARM_UP:
            return model(signals[torch.randint(len(signals), (len(anchors),))])
        if fault or len(bank) == 0:
            bank = embed_everything()
        distances = torch.cdist(anchors.detach(), bank)
        distances.scatter_(1, numbers[:, None], float("inf"))
        return model(signals[distances.argmin(1)])

    def step(batch: list[Tensor] = batch) -> Tensor:
        nonlocal turns
        turns += 1
        inputs, numbers = batch
        anchors = model(inputs)
        positives = model(inputs + 0.1 * torch.randn_like(inputs))
        loss = nn.functional.triplet_margin_loss(anchors, positives, negatives(anchors, numbers))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip
