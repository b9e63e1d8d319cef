"""The two layers of `dlperf.multigpu.splits`, split by PyTorch's own means: its gradients, and the bytes it sends.

The chapter *Training on multiple GPUs, concisely* holds them against what the chapter before did by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from dlperf.multigpu import split_costs, traffic
from dlperf.multigpu.group import Crew, own_device
from dlperf.multigpu.splits import Case, Sizes, Strategy

Step = Callable[[], list[Tensor]]
"""Takes a step, and returns the gradients of the weights that this process has."""
CASES = (Case(Strategy.LAYER, Sizes()), Case(Strategy.NETWORK, Sizes(), 8))


def network(sizes: Sizes, device: torch.device) -> nn.Sequential:
    """Returns the two layers with the weights that they have in `dlperf.multigpu.splits`."""
    _, _, w1, w2 = sizes.tensors(device)
    first, second = (nn.Linear(w.shape[0], w.shape[1], bias=False) for w in (w1, w2))
    first.weight, second.weight = nn.Parameter(w1.T.contiguous()), nn.Parameter(w2.T.contiguous())
    return nn.Sequential(first, nn.ReLU(), second)


def loss(y: Tensor, target: Tensor) -> Tensor:
    """Returns half the squared error, over rows."""
    return (y - target).square().sum() / 2 / len(y)


def by_layer(net: nn.Module, devices: int, kind: str) -> nn.Module:
    """Splits the first layer by columns, the second by rows."""
    mesh = init_device_mesh(kind, (devices,))
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    return parallelize_module(net, mesh, plan)


def by_network(
    net: nn.Sequential,
    rank: int,
    micro_batches: int,
    device: torch.device,
) -> Any:
    """Makes a pipeline of two, which takes micro-batches back as soon
    as it can."""
    from torch.distributed import pipelining  # brings the compiler

    part = net[:2] if rank == 0 else net[2:]
    stage = pipelining.PipelineStage(part, rank, 2, device)
    return pipelining.Schedule1F1B(stage, micro_batches, loss_fn=loss)


def bytes_over_formula(crew: Crew, case: Case) -> float:
    """Returns the bytes that the host which sends most has sent in a step, over the formula's.

    It takes two hosts: only they count.
    """
    return max(crew.run(sent, case)) / traffic.on_wire(split_costs.predicted_bytes(case))


def sent(rank: int, size: int, case: Case) -> int:
    """Returns the bytes that a host has sent in a step, which is not its first: in that shapes are told, too."""
    take = _step(rank, size, case)
    take()
    dist.barrier()
    before = traffic.sent()
    take()
    dist.barrier()
    return traffic.sent() - before


def gradients(rank: int, size: int, case: Case) -> list[Tensor]:
    """Returns the gradients of the weights after a step, on the CPU: by layer whole, by network those of its stage."""
    found = _step(rank, size, case)()
    return [(each.full_tensor() if isinstance(each, DTensor) else each).T.cpu() for each in found]


@lru_cache(maxsize=4)
def _step(rank: int, size: int, case: Case) -> Step:
    device = own_device()
    x, target, _, _ = case.sizes.tensors(device)
    net = network(case.sizes, device)
    take: Callable[[], Any]
    if case.strategy is Strategy.LAYER:
        model = by_layer(net, size, device.type)
        x.requires_grad_()  # as if layers came before
        take = lambda: loss(model(x), target).backward()
        weights = list(net.parameters())
    elif case.strategy is Strategy.NETWORK:
        if size != 2:
            raise ValueError(f"two layers are two stages, for two devices; got {size}")
        pipeline = by_network(net, rank, case.micro_batches, device)
        take = (lambda: pipeline.step(x)) if rank == 0 else (lambda: pipeline.step(target=target))
        weights = list((net[:2] if rank == 0 else net[2:]).parameters())
    else:
        raise ValueError(f"by data, `DistributedDataParallel` is the twin; got {case.strategy}")

    def step() -> list[Tensor]:
        for each in weights:
            each.grad = None
        take()
        return [each.grad for each in weights if each.grad is not None]

    return step
