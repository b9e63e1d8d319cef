"""After each epoch the ranking metric compares every positive with every negative in a Python loop.

As reported: tqdm shows some hundred iterations a second for training and the bar is through in no time, yet an epoch
takes long. I only validate on a few thousand rows of a table, which is nothing, and the model is a small MLP.
Why are my epochs so slow when each step is so fast?
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-border"
TIMED = True


def ranked_above(scores: Tensor, labels: Tensor) -> float:
    """The share of pairs in which the positive has the higher score, pair by pair."""
    positive = scores[labels == 1].tolist()
    negative = scores[labels == 0].tolist()
    wins = 0
    for p in positive:
        for n in negative:
            wins += p > n
    return wins / (len(positive) * len(negative))


def ranked_above_by_sorting(scores: Tensor, labels: Tensor) -> float:
    """The same share, from the ranks of the sorted scores."""
    ranks = scores.argsort().argsort() + 1
    positives = int(labels.sum())
    wins = ranks[labels == 1].sum() - positives * (positives + 1) // 2
    return float(wins) / (positives * (len(labels) - positives))


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters())
    rows = torch.randn(18_000, 20)
    labels = (rows[:, :3].sum(1) > 0).float()
    loader = DataLoader(TensorDataset(rows[:10_000], labels[:10_000]), batch_size=50, shuffle=True)
    held_out, truth = rows[10_000:], labels[10_000:]
    batch = next(iter(loader))
    metric = ranked_above if fault else ranked_above_by_sorting

    def step(batch: list[Tensor] = batch) -> Tensor:
        features, targets = batch
        loss = nn.functional.binary_cross_entropy_with_logits(model(features).squeeze(1), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def epoch() -> float:
        model.train()
        for batch in loader:
            step(batch)
        model.eval()
        with torch.no_grad():
            scores = model(held_out).squeeze(1)
        model.train()
        return metric(scores, truth)

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader, "epoch": epoch,
    }  # fmt: skip
