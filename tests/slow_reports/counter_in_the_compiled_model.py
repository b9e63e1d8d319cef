"""A compiled model counts its calls in a Python number, which the compiler takes for a constant.

As reported: my batches all have the same shape, the last one is dropped, and still the first turns take seconds each.
Then it says something about a limit, and compiling has won nothing. I warm the scores up over the first thousand
calls, that is the only thing that changes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from tests.slow_reports import graphs_compiled

LEAF = "slow-compiler"
TIMED = False
WARM = 1000


class Warmed(nn.Module):
    def __init__(self, fault: bool) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 4))
        self.calls: Any = 0
        if not fault:
            del self.calls
            self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls = self.calls + 1
        return self.layers(x) * (self.calls / WARM)


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    torch.compiler.reset()  # graphs of an earlier run in this process
    device = torch.device("cpu")
    model = Warmed(fault)
    compiled = torch.compile(model, backend="eager")
    optimizer = torch.optim.Adam(model.parameters())
    data = TensorDataset(torch.randn(12 * 8, 20), torch.randint(4, (12 * 8,)))
    loader = DataLoader(data, batch_size=8, drop_last=True)
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        x, labels = (part.to(device) for part in batch)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(compiled(x), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


def shows(names: dict[str, Any]) -> bool:
    """Whether batches of one shape need more than one graph."""
    return graphs_compiled(names) > 1
