"""Every sixth step the loss is estimated over 150 batches of each split, for the log.

As reported: most iterations take 3 ms, and at regular intervals one takes thirty times as long. The intervals are
always the same. I train a small character model on a text that fits into memory, so there are no workers and nothing
is read from disk. Is Python's garbage collector to blame?
Source: https://github.com/Physical-Intelligence/openpi/issues/441 (regular pauses; there, a checkpoint)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

LEAF = "slow-nth"
TIMED = True
CHARACTERS = 40
ESTIMATES = 150


class CharModel(nn.Module):
    """Returns logits and, if targets are given, the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(CHARACTERS, 32)
        self.rnn = nn.GRU(32, 48, batch_first=True)
        self.head = nn.Linear(48, CHARACTERS)

    def forward(self, x: Tensor, y: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        logits = self.head(self.rnn(self.embed(x))[0])
        return logits, None if y is None else nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())


class RandomWindows:
    """Windows at random places of the text, thirty batches an epoch."""

    def __init__(self, text: Tensor) -> None:
        self.text = text

    def get(self) -> tuple[Tensor, Tensor]:
        starts = torch.randint(len(self.text) - 17, (8,)).tolist()
        return tuple(torch.stack([self.text[s + k : s + k + 16] for s in starts]) for k in (0, 1))  # type: ignore[return-value]

    def __iter__(self) -> Any:
        return (self.get() for _ in range(30))


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = CharModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    text = torch.randint(CHARACTERS, (20_000,))
    loader, held_out = RandomWindows(text[:18_000]), RandomWindows(text[18_000:])
    batch = loader.get()
    eval_interval = 6 if fault else 600
    log: list[dict[str, float]] = []
    turns = 0

    @torch.no_grad()
    def estimate_loss() -> dict[str, float]:
        model.eval()
        splits = {"train": loader, "val": held_out}
        means = {
            k: torch.stack([model(*s.get())[1] for _ in range(ESTIMATES)]).mean().item() for k, s in splits.items()
        }
        model.train()
        return means

    def step(batch: tuple[Tensor, Tensor] = batch) -> Tensor:
        nonlocal turns
        turns += 1
        if turns % eval_interval == 0:
            log.append(estimate_loss())
        _, loss = model(*batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip
