"""Every step reads several numbers for each layer, to watch over the gradients.

As reported: nvidia-smi shows 30 % and the profiler a comb of small gaps all over the step. I only have a debug log,
which is switched off anyway: its level is INFO, so that nothing is printed or written.
Source: https://github.com/openvdb/fvdb-reality-capture/pull/308 (numbers read for a log that is off) and
https://github.com/meta-pytorch/torchtune/pull/522
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader, TensorDataset

LEAF = "slow-copies"
TIMED = False
log = logging.getLogger(__name__)


class Block(nn.Module):
    def __init__(self, width: int, watched: bool) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.watched = watched

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.down(nn.functional.gelu(self.up(self.norm(x))))
        if self.watched:
            log.debug(f"activation {x.abs().max().item():.3f} {x.std().item():.3f}")
            if torch.isnan(x).any():
                raise FloatingPointError("NaN in a block")
        return x


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Sequential(nn.Linear(24, 48), *(Block(48, fault) for _ in range(8)), nn.Linear(48, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1000)
    loader = DataLoader(TensorDataset(torch.randn(640, 24), torch.randint(6, (640,))), batch_size=32, shuffle=True)
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        features, labels = batch[0].to(device), batch[1].to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(features), labels, label_smoothing=0.1)
        loss.backward()
        if fault:
            norms = {name: p.grad.norm().item() for name, p in model.named_parameters() if p.grad is not None}
            log.debug(f"gradients {norms}")
        optimizer.step()
        scheduler.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


class Reads(TorchDispatchMode):
    """Counts how often a tensor's number is read into Python."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


def shows(names: dict[str, Any]) -> bool:
    """Whether a step reads more numbers than the one that a log may need."""
    with Reads() as reads:
        names["step"]()
    return reads.count > 1
