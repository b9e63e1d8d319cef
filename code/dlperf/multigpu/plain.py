"""The chapter's step as a script, in plain PyTorch: ``torchrun --nproc-per-node 2 -m dlperf.multigpu.plain``.

The chapter *Training on multiple GPUs, from scratch* shows it, to be copied and changed.
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy


def main(steps: int = 3, batch: int = 13) -> None:
    """Trains a small network on all devices that torchrun started."""
    device = torch.device("cpu")
    processes = int(os.environ["LOCAL_WORLD_SIZE"])
    if torch.cuda.device_count() >= processes:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend)  # torchrun has said who and where
    rank, k = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)  # the same weights everywhere
    model = nn.Linear(8, 3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        inputs = torch.randn(batch, 8)  # here all draw the same
        targets = torch.randint(3, (batch,))
        mine = inputs.tensor_split(k)[rank].to(device)
        classes = targets.tensor_split(k)[rank].to(device)
        loss = cross_entropy(model(mine), classes, reduction="sum")
        (loss / batch).backward()
        for weights in model.parameters():
            dist.all_reduce(weights.grad)
        optimizer.step()
        optimizer.zero_grad()
    print(f"rank {rank} of {k}: {model.weight.sum().item():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
