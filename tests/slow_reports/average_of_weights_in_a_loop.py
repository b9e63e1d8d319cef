"""A second set of weights follows the first, one tensor after the other, with five operators for each.

As reported: I added a teacher whose weights are a moving average of the student's. It computes nothing, it only
gets updated, and still a step takes almost twice as long as before. Smaller batches do not help.
Source: https://github.com/lightly-ai/lightly/pull/1899
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader

LEAF = "slow-host"
TIMED = False
DECAY = 0.99


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    blocks = [module for _ in range(36) for module in (nn.Linear(16, 16), nn.LayerNorm(16), nn.Tanh())]
    student = nn.Sequential(*blocks, nn.Linear(16, 3))
    teacher = deepcopy(student)
    follow: Any = get_ema_multi_avg_fn(DECAY)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.01, foreach=True)
    data: Any = [(torch.randn(16), i % 3) for i in range(12 * 8)]
    loader = DataLoader(data, batch_size=8, shuffle=True)
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        rows, labels = (part.to(device) for part in batch)
        loss = nn.functional.cross_entropy(student(rows), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pairs = list(zip(teacher.parameters(), student.parameters(), strict=True))
        if fault:
            for slow, fast in pairs:
                slow.data = DECAY * slow.data + (1 - DECAY) * fast.data
        else:
            follow([slow for slow, _ in pairs], [fast for _, fast in pairs], None)
        return loss.detach()

    return {
        "torch": torch, "model": student, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


class Products(TorchDispatchMode):
    """Counts multiplications by a number."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func.overloadpacket is torch.ops.aten.mul
        return func(*args, **(kwargs or {}))


def shows(names: dict[str, Any]) -> bool:
    """Whether a step multiplies all tensors of weights, one after the other."""
    with Products() as products:
        names["step"]()
    return products.count >= len(list(names["model"].parameters()))
