"""A training step whose weights are held by servers, and the same one with an all-reduce: as correct, as fast?

The chapter *Parameter servers* opens with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal

import msgspec
import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from dlperf.device import synchronize
from dlperf.kvstore import SGD, Config, Store, connect
from dlperf.models import gpt, steps
from dlperf.models.steps import Step
from dlperf.multigpu.data_parallel import split_batch
from dlperf.multigpu.group import device_of

RATE = 0.05
"""The learning rate."""

WAYS = ("servers", "all-reduce")
"""How gradients become new weights."""


@dataclass(frozen=True)
class Task:
    """One of the book's two training steps, on ``batch`` examples of all workers; a GPT may have a ``size``."""

    name: Literal["ResNet-18", "GPT"]
    batch: int
    size: gpt.Size | None = None

    def share(self, rank: int, k: int, device: torch.device) -> Step:
        """Returns the step on one worker's share; k must divide the batch, so that the mean of means is the mean."""
        if self.batch % k:
            raise ValueError(f"a batch of {self.batch} is no multiple of {k} workers: their shares would differ")
        if self.name == "GPT":
            whole = steps.gpt_step(device, self.batch, self.size)
        else:
            whole = steps.resnet_step(device, self.batch)
        inputs, targets = split_batch(whole.inputs, whole.targets, rank, k)
        return replace(whole, inputs=inputs, targets=targets)


def create(store: Store, model: Any) -> list[str]:
    """Has the store keep the weights, on which it steps by SGD; returns their names."""
    for name, weights in model.named_parameters():
        store.create(name, weights, SGD(RATE))
    return [name for name, _ in model.named_parameters()]


def train_step(store: Store, names: list[str], step: Step) -> None:
    """Takes one step: gradients go to the servers, weights come back."""
    scores = step.model(step.inputs)
    loss = cross_entropy(scores.flatten(0, -2), step.targets.flatten())
    loss.backward()
    weights: list[Any] = list(step.model.parameters())
    share = 1 / store.config.workers
    store.push(names, [w.grad * share for w in weights])
    store.clock()  # until all have pushed
    for w, new in zip(weights, store.pull(names), strict=True):
        w.data.copy_(new)  # to its device
        w.grad = None


def reduced_step(step: Step) -> None:
    """Takes the same step with an all-reduce, and the optimizer on every worker."""
    scores = step.model(step.inputs)
    loss = cross_entropy(scores.flatten(0, -2), step.targets.flatten())
    loss.backward()
    weights: list[Any] = list(step.model.parameters())
    gradients = [w.grad for w in weights]
    flat = parameters_to_vector(gradients)
    dist.all_reduce(flat)
    vector_to_parameters(flat / dist.get_world_size(), gradients)
    for w in weights:
        w.data.sub_(w.grad, alpha=RATE)
        w.grad = None


def both(rank: int, size: int, told: bytes, task: Task, count: int) -> dict[str, Any]:
    """Returns the seconds of each step by each of `WAYS`, in turn, and how far apart the weights are at last.

    ``told`` is a cluster's configuration, which has ``size`` workers. All begin a step together.
    """
    device = device_of(rank, size)
    step = task.share(rank, size, device)
    start = [w.detach().clone() for w in step.model.parameters()]
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    found: dict[str, list[torch.Tensor]] = {way: [w.clone() for w in start] for way in seconds}
    with connect(msgspec.json.decode(told, type=Config), rank) as store:
        names = create(store, step.model)
        ways = {"servers": lambda: train_step(store, names, step), "all-reduce": lambda: reduced_step(step)}
        for _ in range(count + 1):
            for way, run in ways.items():
                for w, mine in zip(step.model.parameters(), found[way], strict=True):
                    w.data.copy_(mine)
                dist.barrier()
                begin = perf_counter()
                run()
                synchronize(device)
                seconds[way].append(perf_counter() - begin)
                found[way] = [w.detach().clone() for w in step.model.parameters()]
    far = max(float((a - b).abs().max()) for a, b in zip(*found.values(), strict=True))
    moved = max(float((a - b).abs().max()) for a, b in zip(found["all-reduce"], start, strict=True))
    return {**{way: taken[1:] for way, taken in seconds.items()}, "apart": far / moved}  # the first warms up
