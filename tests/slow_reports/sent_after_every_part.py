"""Gradients are accumulated over four parts of a batch, and sent to the other ranks after each of them.

As reported: I have to accumulate because a full batch does not fit. With accumulation on two nodes I get nearly no
speed-up over one; without accumulation, at a quarter of the batch, two nodes are much better. I divide the loss by
the number of parts and step once, as everybody does.
Source: https://github.com/pytorch/pytorch/issues/43201
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

LEAF = "slow-ranks"
TIMED = False
RANKS = 2
PARTS = 4


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = DistributedDataParallel(
        nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 16))
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = TensorDataset(torch.randn(2 * 12 * 32, 64), torch.randint(16, (2 * 12 * 32,)))
    loader = DataLoader(data, batch_size=32, sampler=DistributedSampler(data))
    batch = next(iter(loader))

    def step(batch: list[Tensor] = batch) -> Tensor:
        optimizer.zero_grad()
        total = torch.zeros((), device=device)
        parts = list(zip(*(part.chunk(PARTS) for part in batch), strict=True))
        for number, (inputs, labels) in enumerate(parts, start=1):
            quiet = model.no_sync() if not fault and number < PARTS else nullcontext()
            with quiet:
                loss = nn.functional.cross_entropy(model(inputs), labels) / PARTS
                loss.backward()
            total += loss.detach()
        optimizer.step()
        return total

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


def shows(names: dict[str, Any]) -> bool:
    """Whether a step sends a gradient of its model more than once."""
    sent: list[int] = []

    def count(state, bucket):  # without types: DDP accepts no annotations that are strings
        sent.append(bucket.index())
        gradients = bucket.buffer().div_(torch.distributed.get_world_size())
        return torch.distributed.all_reduce(gradients, async_op=True).get_future().then(lambda done: done.value()[0])

    names["model"].register_comm_hook(None, count)
    names["step"]()
    return len(sent) > len(set(sent))
