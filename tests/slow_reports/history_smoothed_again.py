"""Each step smooths the curves of all weights' norms again from their first entry on.

As reported: 训练越来越慢。刚开始一个epoch不到半秒，跑到第四个epoch要好几秒，而且还在涨。显存没有变化，数据全在内存里，
batch大小也没变。中断以后重新开始训练，速度又恢复了，然后又逐渐变慢。请问怎么解决？
Source: https://github.com/shenyunhang/APE/issues/42
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-later"
TIMED = True


def smooth(curve: list[Tensor], weight: float = 0.9) -> Tensor:
    """The exponentially smoothed value at the end of a curve."""
    mean = curve[0]
    for value in curve[1:]:
        mean = weight * mean + (1 - weight) * value
    return mean


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    hidden = [part for _ in range(5) for part in (nn.Tanh(), nn.Linear(16, 16))]
    model = nn.Sequential(nn.Linear(12, 16), *hidden, nn.Linear(16, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    x = torch.randn(40 * 16, 12)
    loader = DataLoader(TensorDataset(x, x.sin().sum(1, keepdim=True)), batch_size=16, shuffle=True)
    batch = next(iter(loader))
    curves: dict[str, list[Tensor]] = defaultdict(list)
    shown: dict[str, Tensor] = {}

    def record(name: str, norm: Tensor) -> None:
        if fault:
            curves[name].append(norm)
            shown[name] = smooth(curves[name])
        else:
            shown[name] = 0.9 * shown.get(name, norm) + 0.1 * norm

    def step(batch: list[Tensor] = batch) -> Tensor:
        inputs, targets = batch
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        for name, parameter in model.named_parameters():
            record(f"{name}/weight", parameter.detach().norm())
            if parameter.grad is not None:
                record(f"{name}/gradient", parameter.grad.norm())
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip
