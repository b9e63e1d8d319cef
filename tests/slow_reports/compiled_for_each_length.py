"""The compiled model is specialised on the length of each batch, and every batch has another length.

As reported: torch.compile makes my training slower instead of faster. People say that the first iteration takes long
and then it pays off, but with me it is the first, the second, the third and so on. After a while it says something
about a limit and is as slow as without compile.
Source: https://github.com/pytorch/pytorch/issues/136196 and https://github.com/pytorch/pytorch/issues/94640
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from tests.slow_reports import graphs_compiled

LEAF = "slow-compiler"
TIMED = False


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(200, 16, padding_idx=0)
        self.out = nn.Linear(16, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        real = (tokens > 0).unsqueeze(-1)
        x = (self.embed(tokens) * real).sum(1) / real.sum(1)
        return self.out(torch.tanh(x))


def collate_longest(samples: list[tuple[Tensor, int]]) -> tuple[Tensor, Tensor]:
    tokens, labels = zip(*samples, strict=True)
    return pad_sequence(list(tokens), batch_first=True), torch.tensor(labels)


def collate_to_64(samples: list[tuple[Tensor, int]]) -> tuple[Tensor, Tensor]:
    tokens, labels = collate_longest(samples)
    return nn.functional.pad(tokens, (0, 64 - tokens.shape[1])), labels


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    torch.compiler.reset()  # graphs of an earlier run in this process
    device = torch.device("cpu")
    model = Pooled()
    compiled = torch.compile(model, backend="eager", dynamic=False)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    # The first sentence of each batch of four is its longest: 24, 27, 30, …
    lengths = [24 + 3 * (i // 4) if i % 4 == 0 else 20 for i in range(48)]
    data: Any = [(torch.randint(1, 200, (n,)), i % 3) for i, n in enumerate(lengths)]
    loader = DataLoader(data, batch_size=4, collate_fn=collate_longest if fault else collate_to_64)
    batch = next(iter(loader))

    def step(batch: tuple[Tensor, Tensor] = batch) -> Tensor:
        tokens, labels = batch
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(compiled(tokens), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


def shows(names: dict[str, Any]) -> bool:
    """Whether more than one graph is compiled in the first four batches."""
    return graphs_compiled(names) > 1
