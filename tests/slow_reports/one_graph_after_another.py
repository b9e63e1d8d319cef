"""The model runs on one molecule after the other, in a Python loop over the batch.

As reported: one CPU core is at 100 %, everything else idles, and doubling the batch size exactly doubles the time of
an iteration. I thought that larger batches were supposed to be more efficient. The network itself is tiny, and the
data are tensors already when the loop gets them.
Source: https://github.com/ywk991112/pytorch-chatbot/issues/6 and https://github.com/facebookresearch/tbsm/pull/1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader

LEAF = "slow-host"
TIMED = False


@dataclass
class Molecules:
    """A batch: features of atoms, which atoms are neighbours, and an energy for each molecule."""

    atoms: Tensor
    neighbours: Tensor
    energies: Tensor

    def __len__(self) -> int:
        return len(self.energies)


def collate(samples: list[tuple[Tensor, Tensor, Tensor]]) -> Molecules:
    return Molecules(*(torch.stack(part) for part in zip(*samples, strict=True)))


class Messages(nn.Module):
    """Two rounds of messages between neighbours; works on one molecule as on many."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.out = nn.Linear(6, 32), nn.Linear(32, 32), nn.Linear(32, 1)

    def forward(self, atoms: Tensor, neighbours: Tensor) -> Tensor:
        x = torch.relu(neighbours @ self.first(atoms))
        x = torch.relu(neighbours @ self.second(x))
        return self.out(x).sum(dim=(-2, -1))


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = Messages()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data: Any = [(torch.randn(9, 6), (torch.rand(9, 9) > 0.6).float(), torch.randn(())) for _ in range(16 * 48)]
    loader = DataLoader(data, batch_size=48, collate_fn=collate)
    batch = next(iter(loader))

    def step(batch: Molecules = batch) -> Tensor:
        optimizer.zero_grad()
        if fault:
            energies = []
            for i in range(len(batch)):
                energies.append(model(batch.atoms[i], batch.neighbours[i]))
            predicted = torch.stack(energies)
        else:
            predicted = model(batch.atoms, batch.neighbours)
        loss = nn.functional.l1_loss(predicted, batch.energies)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


class Operators(TorchDispatchMode):
    """Counts the operators that are dispatched inside."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def shows(names: dict[str, Any]) -> bool:
    """Whether a step dispatches more operators the more samples its batch has."""
    batch, counts = names["batch"], []
    half = Molecules(*(part[: len(batch) // 2] for part in (batch.atoms, batch.neighbours, batch.energies)))
    for part in (half, batch):
        with Operators() as operators:
            names["step"](part)
        counts.append(operators.count)
    return counts[1] > 1.5 * counts[0]
