"""The gradient of a table of 200,000 words is dense, though a batch uses a few hundred of them.

As reported: one layer of embeddings and a linear layer, it cannot get any smaller, and a step takes half a second on
the CPU. With a vocabulary of 5,000 it is fast. But I look up the same number of words in both cases, so the size of
the vocabulary should not matter.
Source: https://github.com/pytorch/pytorch/issues/5309
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-waste"
TIMED = False
WORDS = 200_000


class Recommender(nn.Module):
    """The loss of a user's next item against one that was not bought."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.items = nn.Embedding(WORDS, 16, sparse=sparse)
        self.query = nn.Linear(16, 16)

    def forward(self, history: Tensor, bought: Tensor, other: Tensor) -> Tensor:
        query = self.query(self.items(history).mean(1))
        difference = (query * (self.items(bought) - self.items(other))).sum(-1)
        return -nn.functional.logsigmoid(difference).mean()


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = Recommender(sparse=not fault)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    data = TensorDataset(*(torch.randint(WORDS, size) for size in ((12 * 32, 8), (12 * 32,), (12 * 32,))))
    loader = DataLoader(data, batch_size=32, shuffle=True)
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        optimizer.zero_grad()
        loss = model(*batch)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


def shows(names: dict[str, Any]) -> bool:
    """Whether most rows of the table's gradient are there for nothing."""
    names["step"]()
    gradient = names["model"].items.weight.grad
    if gradient.is_sparse:
        return False
    return gradient.ne(0).any(1).float().mean().item() < 0.1
