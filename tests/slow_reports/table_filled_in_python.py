"""The table of relative positions is filled element by element in Python when a length is met for the first time.

As reported: the first few iterations of my text model take a quarter of a second each, after that it flies. It has
nothing to do with the data: if I start again in the same process with a new model, the first few are slow again.
I see a short hang once for each bucket of lengths, and never again for that bucket.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

LEAF = "slow-first"
TIMED = True
LENGTHS = (128, 144, 160, 192)


class Attention(nn.Module):
    def __init__(self, width: int, fault: bool) -> None:
        super().__init__()
        self.fault = fault
        self.qkv = nn.Linear(width, 3 * width)
        self.bias = nn.Parameter(torch.zeros(2 * max(LENGTHS)))
        self.tables: dict[int, Tensor] = {}

    def table(self, n: int) -> Tensor:
        if n not in self.tables:
            if self.fault:
                made = torch.zeros(n, n, dtype=torch.long)
                for i in range(n):
                    for j in range(n):
                        made[i, j] = j - i + n - 1
            else:
                place = torch.arange(n)
                made = place[None, :] - place[:, None] + n - 1
            self.tables[n] = made
        return self.tables[n]

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.mT / x.shape[-1] ** 0.5 + self.bias[self.table(x.shape[1])]
        return x + scores.softmax(-1) @ v


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Sequential(nn.Embedding(500, 32), Attention(32, fault), Attention(32, fault), nn.Linear(32, 500))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    # One bucket of sentences after the other, as a sampler by length delivers them.
    buckets: Any = [torch.randint(500, (2, LENGTHS[i % 4] + 1)) for i in range(20)]
    loader = DataLoader(buckets, batch_size=None)
    batch = next(iter(loader))

    def step(batch: Tensor = batch) -> Tensor:
        optimizer.zero_grad()
        logits = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip
