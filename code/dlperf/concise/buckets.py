"""Buckets of several sizes, ours and DDP's, on hosts: what a step takes, and what a link predicts for it.

The chapter *Training on multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from dlperf.alpha_beta import Line
from dlperf.concise.forecast import MIB
from dlperf.concise.hook import as_bfloat16
from dlperf.concise.ladder.one import digits, network
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.multigpu import reduce_costs
from dlperf.multigpu.data_parallel import Buckets
from dlperf.multigpu.group import Crew
from dlperf.network import process_group
from dlperf.parallel import gradients
from dlperf.parallel.gradients import Step, Strategy
from dlperf.turns import columns, interleave

Message = Any
"""A future of a tensor."""

ALONE, OURS, DEFAULT = "alone", "ours", "DDP as it comes"
"""A step that sends nothing; by our `Buckets`; and by DDP as nobody has told it."""
BFLOAT16 = ", bfloat16"
"""How the name of a way ends that sends half of the bytes, by `as_bfloat16`."""


@dataclass(frozen=True)
class Digits(gradients.Task):
    """The ladder's network, and ``batch`` of its images for each host."""

    batch: int = 32
    width: int = 128

    def net(self) -> nn.Module:
        """Returns the network, the same one everywhere."""
        return network(self.width, 4)

    def data(self, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the images of host ``rank`` and their classes."""
        first = rank * self.batch
        images, classes = digits()[0][first : first + self.batch]
        return images, classes


@dataclass(frozen=True)
class Plan:
    """A network, the MiB of our buckets, what DDP's are to have, too, and what they have where they are compressed.

    None leaves the size to DDP.
    """

    task: gradients.Task
    ours: float
    tried: tuple[float, ...] = ()
    compressed: float | None = None


DIGITS = Plan(Digits(), ours=1.0, tried=(1.0, 0.25), compressed=1.0)
"""The ladder's network, which fills two of DDP's buckets; ours are as large as the first of them."""
RESNET = Plan(gradients.Task(batch=8), ours=4.0, tried=(4.0,), compressed=4.0)
"""ResNet-18, with the batch over two hosts and the buckets of the chapter before."""


@cache
def made(task: gradients.Task, rank: int) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """Returns what a host keeps from step to step: network, images and their classes."""
    return task.net(), *task.data(rank)


def ours(rank: int, k: int, task: gradients.Task, size: float) -> Step:
    """Returns what host ``rank`` of k saw of a step whose gradients our `Buckets` send, of so many bytes each."""
    process_group(rank, k)
    net, images, classes = made(task, rank)
    step = Step()
    with _watched(net, step):
        buckets = Buckets(net.parameters(), size, step.send)
        _pass(net, images, classes, step)
        buckets.finish()
        step.gradient = next(net.parameters()).grad
    buckets.close()
    dist.barrier()
    return step


def compressed(rank: int, k: int, task: gradients.Task) -> Step:
    """Returns what host ``rank`` of k saw of a step under DDP with `as_bfloat16`; ``sizes`` are of what is sent."""
    process_group(rank, k)
    net, model, sender = _compressing(task, rank)
    _, images, classes = made(task, rank)
    step = sender.step = Step()
    with _watched(net, step):
        _pass(model, images, classes, step)
        step.gradient = next(net.parameters()).grad
    dist.barrier()
    return step


class _Sender:
    """Sends for the ``step`` that is under way: DDP's hook is registered once."""

    step: Step

    def send(self, bucket: dist.GradBucket) -> Message:
        """Sends a bucket, which has arrived when it is wide again."""
        return as_bfloat16(self.step.send, bucket).then(self.arrived)

    def arrived(self, message: Message) -> torch.Tensor:
        """Notes when."""
        self.step.arrived[-1] = perf_counter()
        return message.value()


@cache
def _compressing(task: gradients.Task, rank: int) -> tuple[nn.Module, nn.Module, _Sender]:
    net, sender = task.net(), _Sender()
    model = DistributedDataParallel(net, bucket_cap_mb=task.bucket_mib)
    model.register_comm_hook(sender, lambda sender, bucket: sender.send(bucket))
    _, images, classes = made(task, rank)
    for _ in range(2):  # DDP arranges its buckets after the first step
        sender.step = Step()
        cross_entropy(model(images), classes).backward()
    return net, model, sender


@contextmanager
def _watched(net: nn.Module, step: Step) -> Iterator[None]:
    """Has a step note when each gradient is there."""

    def ready(weights: torch.Tensor) -> None:
        assert weights.grad is not None
        step.ready.append(perf_counter())
        step.weighs.append(weights.grad.nbytes)

    hooks = [weights.register_post_accumulate_grad_hook(ready) for weights in net.parameters()]
    yield
    for hook in hooks:
        hook.remove()


def _pass(model: nn.Module, images: torch.Tensor, classes: torch.Tensor, step: Step) -> None:
    """Passes through a network forward and backward, when all hosts are there."""
    model.zero_grad()
    dist.barrier()
    step.begin = perf_counter()
    loss = cross_entropy(model(images), classes)
    step.backward = perf_counter()
    loss.backward()


def predict(
    alone: Step,
    sizes: Sequence[int],
    k: int,
    link: Line,
    narrower: int = 1,
) -> float:
    """Returns the seconds until all gradients are there, in messages
    of these `sizes`.

    `alone` is a step of as many examples that sends nothing; a message
    is full when the last of its gradients is ready, which have
    `narrower` times its bytes.
    """
    filled = [narrower * size for size in sizes]
    full = gradients.when_full(alone, filled)
    took = [reduce_costs.seconds("ring", k, size, link) for size in sizes]
    last = gradients.messages(full, took)[-1][1]
    return max(alone.computing, last)


def compare(crew: Crew, link: Line, plan: Plan = DIGITS, repeats: int = 15) -> dict[str, dict[str, Measurement]]:
    """Returns what the first of two hosts measured, by the way gradients are sent, and what was predicted for it.

    ``step`` is in seconds, from the forward pass until all gradients are there, in so many ``messages``; ``predicted``
    comes from the same turn's step that sends nothing, ``own passes`` is the same with the passes of this very step,
    and ``free`` is what ``predicted_over_measured`` would be if all that is sent were hidden. ``bound`` is the step
    over forward pass and the longer of backward pass and one message of all gradients, ``at the end`` what that would
    be if all messages followed the backward pass, and ``over ours`` the step over the turn's step by our `Buckets`.
    """
    answers = interleave(ways(crew, plan), repeats)
    first = {way: [steps[0] for steps in turns] for way, turns in answers.items()}
    alone = first.pop(ALONE)
    our = next(steps for way, steps in first.items() if way.startswith(OURS))
    rows = {
        way: [_row(*each, link, 2 if way.endswith(BFLOAT16) else 1) for each in zip(alone, our, steps, strict=True)]
        for way, steps in first.items()
    }
    units = {key: "s" if key in ("step", "predicted", "own passes") else "1" for key in rows[DEFAULT][0]}
    named = {(way, key): f"{way}: {key}" for way in rows for key in units}
    turns = [{name: rows[way][turn][key] for (way, key), name in named.items()} for turn in range(len(alone))]
    found = columns(turns, {name: units[key] for (_, key), name in named.items()}, environment("cpu"))
    return {way: {key: found[named[way, key]] for key in units} for way in rows}


def ways(crew: Crew, plan: Plan = DIGITS) -> Mapping[str, Callable[[], list[Step]]]:
    """Returns what takes a step on both hosts, by the way in which gradients are sent."""
    task, train = plan.task, gradients.train
    sized = lambda mib: replace(task, bucket_mib=mib)
    named = lambda mib: DEFAULT if mib is None else f"DDP, {mib:g} MiB"
    return {
        ALONE: partial(crew.run, train, task, Strategy.ALONE),
        f"{OURS}, {plan.ours:g} MiB": partial(crew.run, ours, task, plan.ours * MIB),
        DEFAULT: partial(crew.run, train, task, Strategy.DDP),
        **{named(mib): partial(crew.run, train, sized(mib), Strategy.DDP) for mib in plan.tried},
        named(plan.compressed) + BFLOAT16: partial(crew.run, compressed, sized(plan.compressed)),
    }


def _row(alone: Step, our: Step, step: Step, link: Line, narrower: int = 1) -> dict[str, float]:
    predicted = predict(alone, step.sizes, 2, link, narrower)
    forward = alone.backward - alone.begin
    sending = reduce_costs.seconds("ring", 2, sum(step.sizes), link)
    best = forward + max(alone.computing - forward, sending)
    after = alone.computing + sum(reduce_costs.seconds("ring", 2, size, link) for size in step.sizes)
    return {
        "step": step.seconds,
        "predicted": predicted,
        "own passes": predict(step, step.sizes, 2, link, narrower),
        "predicted_over_measured": predicted / step.seconds,
        "free": alone.computing / step.seconds,
        "messages": len(step.sizes),
        "bound": step.seconds / best,
        "at the end": after / best,
        "over ours": step.seconds / our.seconds,
    }
