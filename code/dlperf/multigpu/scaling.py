"""A data-parallel step on k devices, clocked: with its exchange, without it, and the exchange alone.

What is predicted from these stands in `dlperf.multigpu.forecast`. The chapter *Training on multiple GPUs, from
scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dlperf import network
from dlperf.device import synchronize
from dlperf.models import gpt, resnet, steps, text
from dlperf.multigpu import lenet
from dlperf.multigpu.group import device_of
from dlperf.multigpu.reduce import first


def train_step(
    model: Any,
    optimizer: torch.optim.Optimizer,
    inputs: Tensor,
    targets: Tensor,
    all_reduce: Callable[[Tensor], object],
    k: int,
) -> None:
    """Takes one step on this device's share of the batch, one of k."""
    scores = model(inputs)
    loss = cross_entropy(scores.flatten(0, -2), targets.flatten())
    loss.backward()
    gradients = [weights.grad for weights in model.parameters()]
    flat = torch.cat([g.flatten() for g in gradients])  # one message
    all_reduce(flat)  # the sum over devices
    totals = flat.split([g.numel() for g in gradients])
    for g, total in zip(gradients, totals, strict=True):
        g.copy_(total.view_as(g) / k)
    optimizer.step()
    optimizer.zero_grad()


class LeNet(nn.Module):
    """The chapter's LeNet as a module: images (batch, 1, 28, 28) -> ten scores for each."""

    def __init__(self) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        self.params = nn.ParameterList(lenet.parameters(draw))

    def forward(self, images: Tensor) -> Tensor:
        return lenet.lenet(images, list(self.params))


def _images(batch: int, device: torch.device | str) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    images, classes = torch.randn(batch, 1, 28, 28, generator=draw), torch.randint(10, (batch,), generator=draw)
    return images.to(device), classes.to(device)


def lenet_step(device: torch.device | str, batch: int = 256) -> steps.Step:
    """Returns a step of LeNet on so many images of noise."""
    model = LeNet().to(device)
    return steps.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), *_images(batch, device))


STEPS: dict[str, Callable[..., steps.Step]] = {
    "ResNet-18": steps.resnet_step,
    "GPT": steps.gpt_step,
    "LeNet": lenet_step,
}


@dataclass(frozen=True)
class Task:
    """A network of `STEPS` that all devices together train on ``batch`` examples a step; a GPT may have a ``size``.

    How long a step takes does not depend on what the examples show.
    """

    name: str
    batch: int
    size: gpt.Size | None = None

    def step(self, device: torch.device | str) -> steps.Step:
        """Returns the step on one device; networks of one name and size are one and the same, and stay."""
        made = _net(self.name, self.size, torch.device(device))
        if isinstance(made.model, gpt.GPT):
            inputs, targets = text.batch(self.batch, made.model.size.context, device)
        else:
            inputs, targets = (_images if self.name == "LeNet" else resnet.batch)(self.batch, device)
        return replace(made, inputs=inputs, targets=targets)

    def weighs(self, device: torch.device | str = "cpu") -> list[int]:
        """Returns the bytes of the gradient of each of its parameters there: what is exchanged."""
        made = _net(self.name, self.size, torch.device(device))
        return [p.numel() * p.element_size() for p in made.model.parameters()]


@cache
def _net(name: str, size: gpt.Size | None, device: torch.device) -> steps.Step:
    return STEPS[name](device, 1, **({"size": size} if size else {}))


@cache
def _share(task: Task, rank: int, k: int, device: torch.device) -> steps.Step:
    """Returns the step on this device's share of the batch; k must divide it, so that all shares are alike."""
    if task.batch % k:
        raise ValueError(f"a batch of {task.batch} is no multiple of {k} devices: their shares would differ")
    whole = task.step(device)
    inputs, targets = (part.tensor_split(k)[rank] for part in (whole.inputs, whole.targets))
    return replace(whole, inputs=inputs, targets=targets)


def _device(rank: int, size: int) -> torch.device:
    return torch.device("cpu") if dist.get_backend() == "gloo" else device_of(rank, size)


def _team(k: int, size: int) -> Any:
    """Returns the process group of the first ``k`` ranks, None for one; all ranks ask, in the same order."""
    return None if k == 1 else dist.group.WORLD if k == size else first(k)


def _clocked(device: torch.device, run: Callable[[], object], calls: int, group: Any) -> float:
    """Returns the seconds of a call, where all of the group begin together."""
    synchronize(device)
    if group is not None:
        dist.barrier(group=group)
    start = perf_counter()
    for _ in range(calls):
        run()
    synchronize(device)
    return (perf_counter() - start) / calls


def together(rank: int, size: int, task: Task, k: int, calls: int = 1) -> float:
    """Returns the seconds of a step on ``k`` devices, 0 of a process that has no part in it.

    For the processes of a Group and the hosts of a Network alike. One device exchanges nothing.
    """
    return _run(rank, size, task, k, calls, exchanging=k > 1)


def apart(rank: int, size: int, task: Task, k: int, calls: int = 1) -> float:
    """Returns the seconds of the same without an exchange: each of ``k`` devices computes its share, and packs it."""
    return _run(rank, size, task, k, calls, exchanging=False)


def _run(rank: int, size: int, task: Task, k: int, calls: int, *, exchanging: bool) -> float:
    network.process_group(rank, size)
    group = _team(k, size)
    if rank >= k:
        return 0.0
    step = _share(task, rank, k, _device(rank, size))
    all_reduce = partial(dist.all_reduce, group=group) if exchanging else lambda flat: None
    shared = lambda: train_step(step.model, step.optimizer, step.inputs, step.targets, all_reduce, k)
    return _clocked(step.inputs.device, shared if k > 1 else step, calls, group)


def exchange(rank: int, size: int, weighs: Sequence[int], k: int, calls: int = 1) -> float:
    """Returns the seconds in which ``k`` devices all-reduce messages of so many bytes, one after another."""
    network.process_group(rank, size)
    group, device = _team(k, size), _device(rank, size)
    if rank >= k:
        return 0.0
    messages = _messages(tuple(weighs), device)
    run = lambda: [dist.all_reduce(message, group=group) for message in messages]
    return _clocked(device, run, calls, group)


@cache
def _messages(weighs: tuple[int, ...], device: torch.device) -> list[Tensor]:
    """Returns zeros of so many bytes each, which stay: pages of new memory would have to be fetched first."""
    return [torch.zeros(-(-n // 4), device=device) for n in weighs]
