"""PyTorch is told to use as many threads as the host has cores, of which the container may use few.

As reported: on my laptop an epoch takes half as long as on our 96-core server. In Kubernetes top shows a load of far
over 100 on the node while my pod does next to nothing; most of the time goes into the kernel. I do set the number of
threads by hand, to os.cpu_count().
Source: https://github.com/Unity-Technologies/ml-agents/pull/4471

Changes `torch.set_num_threads`, for the process.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-threads"
TIMED = False


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    of_the_host = 4 * cores()  # a host of four times as many cores as the container has
    torch.set_num_threads(of_the_host if fault else cores())
    model = nn.Sequential(
        nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.SiLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.SiLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(),
        nn.Linear(24, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, nesterov=True, momentum=0.9)
    images = TensorDataset(torch.rand(192, 3, 24, 24), torch.randint(10, (192,)))
    loader = DataLoader(images, batch_size=16, shuffle=True)
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        images, labels = batch
        model.zero_grad()
        loss = nn.functional.nll_loss(model(images).log_softmax(1), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


def shows(names: dict[str, Any]) -> bool:
    """Whether an operator may use more threads than the process has cores."""
    names["step"]()
    return torch.get_num_threads() > cores()
