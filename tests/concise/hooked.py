"""What a process does to try the hook that the page prints, in a module that it imports quickly."""

from __future__ import annotations

import torch
from torch.nn.parallel import DistributedDataParallel

from dlperf.concise.hook import as_bfloat16, average


def gradient(rank: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the gradient of a layer under DDP with the hook, and what it is on this process alone."""
    layer = torch.nn.Linear(4, 3)
    inputs = torch.arange(4.0) + rank / 3
    layer(inputs).sum().backward()
    alone = layer.weight.grad
    layer.weight.grad = layer.bias.grad = None
    model = DistributedDataParallel(layer)
    model.register_comm_hook(average, as_bfloat16)
    model(inputs).sum().backward()
    return layer.weight.grad, alone
