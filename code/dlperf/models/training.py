"""One training step: forward, loss, backward, and a change of the weights."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import record_function


def training_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    inputs: Tensor,
    targets: Tensor,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Changes the weights of ``model`` once and returns the loss before it.

    The model's scores have one dimension more than ``targets``, the last.
    With bfloat16 the operators for which PyTorch's autocast chooses it
    compute in it; weights and their gradients stay float32. A profiler sees
    the three phases by their names.
    """
    lower = torch.autocast(inputs.device.type, dtype, enabled=dtype != torch.float32)
    with record_function("forward"), lower:
        scores = model(inputs)
        loss = F.cross_entropy(scores.flatten(0, -2), targets.flatten())
    with record_function("backward"):
        loss.backward()
    with record_function("update"):
        optimizer.step()
        optimizer.zero_grad()
    return loss.detach()
