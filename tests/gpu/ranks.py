"""What the tests of simulated GPUs have the processes of a group do, in a module that these import."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from dlperf.multigpu.group import device_of


def collectives(rank: int, size: int) -> dict[str, Any]:
    """Returns what each collective leaves on a rank's GPU, as numbers."""
    device = device_of(rank, size)
    mine = torch.arange(4.0, device=device) + rank
    told: dict[str, torch.Tensor] = {"all_reduce": mine.clone()}
    dist.all_reduce(told["all_reduce"])
    told["broadcast"] = mine.clone()
    dist.broadcast(told["broadcast"], src=size - 1)
    told["all_gather"] = torch.empty(4 * size, device=device)
    dist.all_gather_into_tensor(told["all_gather"], mine)
    apart = [torch.empty_like(mine) for _ in range(size)]
    dist.all_gather(apart, mine)
    told["apart"] = torch.cat(apart)
    told["reduce_scatter"] = torch.empty(4, device=device)
    dist.reduce_scatter_tensor(told["reduce_scatter"], told["all_gather"])
    told["received"] = torch.zeros_like(mine)
    after, before = (rank + 1) % size, (rank - 1) % size
    sends = dist.P2POp(dist.isend, mine, after), dist.P2POp(dist.irecv, told["received"], before)
    for work in dist.batch_isend_irecv(list(sends)) if size > 1 else ():
        work.wait()
    later = mine.clone()
    dist.all_reduce(later, async_op=True).wait()
    told["later"] = later
    dist.barrier()
    assert all(tensor.device == device for tensor in told.values())
    return {name: tensor.tolist() for name, tensor in told.items()}


def ddp(rank: int, size: int) -> list[float]:
    """Returns the weights after two steps under DDP, each rank with examples of its own."""
    device = device_of(rank, size)
    torch.manual_seed(0)
    net = nn.Linear(3, 1).to(device)
    model = DistributedDataParallel(net, device_ids=None if device.type == "cpu" else [device])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.full((2, 3), rank + 1.0, device=device)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [value for weights in net.parameters() for value in weights.flatten().tolist()]
