"""A training step on k devices, by hand and under PyTorch's DistributedDataParallel, in the processes of a group.

The chapter *Multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from dlperf.device import synchronize
from dlperf.models import gpt, resnet, steps, text
from dlperf.models.training import training_step
from dlperf.multigpu.group import device_of

MODELS: dict[str, Callable[..., steps.Step]] = {"ResNet-18": steps.resnet_step, "GPT": steps.gpt_step}
OPTIONS: dict[str, dict[str, Any]] = {
    "DDP": {},
    "gradient_as_bucket_view": {"gradient_as_bucket_view": True},
    "find_unused_parameters": {"find_unused_parameters": True},
    "static_graph": {"static_graph": True},
}
"""What DDP is told, by the name of the way."""

WAYS = "alone", "by hand", *OPTIONS
"""A step on this process's part of the batch: never averaged, averaged after the backward pass, and by DDP."""


def train(rank: int, size: int, pieces: int, epochs: int) -> list[float]:
    """Returns the losses of this process while all train a GPT."""
    device = device_of(rank, size)
    torch.manual_seed(0)
    net = gpt.GPT(steps.CPU_GPT).to(device)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    examples = TensorDataset(*text.batch(pieces, time=128))
    sampler: Any = DistributedSampler(examples)
    loader = DataLoader(examples, batch_size=4, sampler=sampler)
    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            batch = [part.to(device) for part in batch]
            losses.append(training_step(model, optimizer, *batch))
    return [float(loss) for loss in losses]


def average(model: nn.Module) -> None:
    """Averages gradients over all processes, in one message."""
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    flat = parameters_to_vector(gradients)
    dist.all_reduce(flat)
    vector_to_parameters(flat / dist.get_world_size(), gradients)


def loss_of(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Returns the mean loss over examples or characters, a tensor of one number."""
    return cross_entropy(model(inputs).flatten(0, -2), targets.flatten())


def own_device(rank: int, size: int) -> torch.device:
    """Returns where a process of the group computes: by gloo on the CPU, else on a GPU of its own."""
    return torch.device("cpu") if dist.get_backend() == "gloo" else device_of(rank, size)


def part(rank: int, size: int, name: str, batch: int | None = None) -> steps.Step:
    """Returns the step of a model on this process's examples: ``batch`` of ``size * batch``, in order of rank.

    The weights are the same everywhere. Without ``batch`` it is what suits a device: see `dlperf.models.steps`.
    """
    device = own_device(rank, size)
    step = MODELS[name](device, batch)
    own = len(step.inputs)
    inputs, targets = whole(step, size * own)
    mine = slice(rank * own, (rank + 1) * own)
    return replace(step, inputs=inputs[mine], targets=targets[mine])


def whole(step: steps.Step, number: int) -> tuple[Tensor, Tensor]:
    """Returns so many examples for the model of a step, on its device."""
    device = step.inputs.device
    if isinstance(step.model, gpt.GPT):
        return text.batch(number, step.model.size.context, device)
    return resnet.batch(number, device)


_kept: dict[tuple[str, str, int | None], steps.Step] = {}


def seconds(rank: int, size: int, name: str, way: str, batch: int | None = None) -> float:
    """Returns the seconds of a whole training step, update included, in one of `WAYS`; all processes begin at once.

    The first call of a way makes and warms up its model, which is kept. Raises ValueError for another way.
    """
    if way not in WAYS:
        raise ValueError(f"a step is taken in one of {', '.join(WAYS)}, got {way!r}")
    key = name, way, batch
    if key not in _kept:
        step = part(rank, size, name, batch)
        if way in OPTIONS:
            step = replace(step, model=DistributedDataParallel(step.model, **OPTIONS[way]))
        _kept[key] = step
        for _ in range(2):  # after DDP's first step its buckets are arranged anew
            _step(_kept[key], way)
    step = _kept[key]
    synchronize(step.inputs.device)
    dist.barrier()
    start = perf_counter()
    _step(step, way)
    synchronize(step.inputs.device)
    return perf_counter() - start


def _step(step: steps.Step, way: str) -> None:
    loss_of(step.model, step.inputs, step.targets).backward()
    if way == "by hand":
        average(step.model)
    step.optimizer.step()
    step.optimizer.zero_grad()


def vector(model: nn.Module) -> Tensor:
    """Returns the gradients of a model as one vector."""
    return parameters_to_vector(p.grad for p in model.parameters() if p.grad is not None)


def error(found: Tensor, right: Tensor) -> float:
    """Returns the largest difference of two vectors over the largest value of the right one."""
    return float((found - right).abs().max() / right.abs().max())


def differences(rank: int, size: int, name: str, batch: int | None = None) -> dict[str, float]:
    """Returns the `error` of DDP's gradient, against that by hand and against one device's of the whole batch.

    The latter is another where a model normalises over its part of the batch, as ResNet-18 does.
    """
    models = []
    for way in ("alone", "by hand", "DDP"):
        step = part(rank, size, name, batch)
        inputs, targets = step.inputs, step.targets
        model: nn.Module = DistributedDataParallel(step.model) if way == "DDP" else step.model
        if way == "alone":
            inputs, targets = whole(step, size * len(inputs))
        loss_of(model, inputs, targets).backward()
        if way == "by hand":
            average(model)
        models.append(vector(model))
    at_once, by_hand, by_ddp = models
    return {"by hand": error(by_ddp, by_hand), "whole batch": error(by_ddp, at_once)}


class Spare(nn.Module):
    """A model with a layer that no loss ever depends on."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model, self.spare = model, nn.Linear(8, 8)

    def forward(self, inputs: Tensor) -> Any:
        """Returns what the model makes of its inputs."""
        return self.model(inputs)


def complaint(rank: int, size: int) -> tuple[int, list[str]]:
    """Returns in which step DDP complains of a parameter without a gradient, and which ones it names.

    The name is that of the parameter whose index stands in the error; ``(0, [])`` without one.
    """
    step = part(rank, size, "GPT", 1)
    model = DistributedDataParallel(Spare(step.model).to(step.inputs.device))
    names = [name for name, _ in cast(nn.Module, model.module).named_parameters()]
    for number in (1, 2):
        try:
            loss_of(model, step.inputs, step.targets).backward()
        except RuntimeError as why:
            found = re.search(rf"receive grad for rank {rank}: ([\d ]+)", str(why))
            return number, [names[int(i)] for i in found[1].split()] if found else []
    return 0, []


def data_parallel(devices: Sequence[torch.device], name: str, batch: int | None = None) -> Callable[[], None]:
    """Returns a step in this one process, which `DataParallel` divides among several GPUs: how it was once done.

    ``batch`` is for each GPU.
    """
    step = MODELS[name](devices[0], batch)
    inputs, targets = whole(step, len(devices) * len(step.inputs))
    model = DataParallel(step.model, device_ids=[device.index for device in devices])
    return partial(_step, replace(step, model=model, inputs=inputs, targets=targets), "alone")
