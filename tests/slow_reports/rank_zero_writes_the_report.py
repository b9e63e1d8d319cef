"""The first rank writes a report after each step, and the others wait for it in the next one.

As reported: two GPUs are slower than one. The profile of rank 1 says that nearly all of its time goes into all-reduce,
so I asked for a faster network, but iperf is fine. Rank 0 looks normal, and its all-reduce is quick.
Source: https://github.com/pytorch/pytorch/issues/71303 and https://github.com/traceopt-ai/traceml/issues/252
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

LEAF = "slow-ranks"
TIMED = True
RANKS = 2
WRITING_S = 0.1
"""Seconds that the server of experiments takes to answer."""


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    rank = torch.distributed.get_rank()
    model = DistributedDataParallel(nn.Sequential(nn.EmbeddingBag(300, 24), nn.ReLU(), nn.Linear(24, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randint(300, (2 * 14 * 16, 10)), torch.randint(2, (2 * 14 * 16,)))
    loader = DataLoader(data, batch_size=16, sampler=DistributedSampler(data))
    batch = next(iter(loader))
    report_every = 1 if fault else 1000
    turns = 0

    def report(loss: Tensor) -> None:
        time.sleep(WRITING_S)

    def step(batch: list[Tensor] = batch) -> Tensor:
        nonlocal turns
        turns += 1
        tokens, labels = batch
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens), labels)
        loss.backward()
        optimizer.step()
        if rank == 0 and turns % report_every == 0:
            report(loss.detach())
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip
