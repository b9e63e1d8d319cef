"""Gradients on their way while the backward pass goes on: layer by layer, in buckets, or all at the end.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import accumulate
from statistics import median
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from dlperf import spans
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.network import Network, process_group
from dlperf.turns import columns


def finish(ready: Sequence[float], seconds: Sequence[float]) -> float:
    """Returns when the last message is through.

    Each begins once it is ``ready`` and the link is free.
    """
    end = 0.0
    for moment, taken in zip(ready, seconds, strict=True):
        end = max(end, moment) + taken
    return end


@dataclass(frozen=True)
class Task:
    """A perceptron of so many ``layers``, each a ``(width, width)`` matrix, and a ``batch`` for each host.

    DDP puts gradients into buckets of up to ``bucket_mib`` MiB; None leaves that to it.
    """

    layers: int = 6
    width: int = 1024
    batch: int = 384
    bucket_mib: float | None = None

    def net(self) -> torch.nn.Sequential:
        """Returns the perceptron, the same one everywhere."""
        torch.manual_seed(0)
        linear = partial(torch.nn.Linear, self.width, self.width, bias=False)
        return torch.nn.Sequential(*(part for _ in range(self.layers) for part in (linear(), torch.nn.ReLU())))

    def data(self, rank: int) -> torch.Tensor:
        """Returns the ``(batch, width)`` examples of host ``rank``."""
        return torch.randn(self.batch, self.width, generator=torch.Generator().manual_seed(rank))


@dataclass
class Step:
    """When what happened in a training step, in seconds of `time.perf_counter`, which all processes here share.

    ``ready`` is when a gradient was computed, ``sent`` when a message of so many bytes (``sizes``) was handed over,
    and ``arrived`` when its average was there. ``gradient`` is that of the first layer.
    """

    begin: float = 0.0
    backward: float = 0.0
    ready: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)
    gradient: torch.Tensor | None = None

    @property
    def seconds(self) -> float:
        """From the beginning of the forward pass until every gradient is there."""
        return max([*self.ready, *self.arrived]) - self.begin

    def under_way(self) -> list[spans.Span]:
        """Returns start and end of each message's time on the link: it may have to wait for the one before it."""
        arrived = sorted(self.arrived)
        free = [self.begin, *arrived]
        return [(max(sent, before), end) for sent, before, end in zip(self.sent, free, arrived, strict=False)]

    @property
    def computing(self) -> float:
        """The seconds of the forward and the backward pass, until the last gradient is ready."""
        return max(self.ready, default=self.begin) - self.begin

    @property
    def hidden(self) -> float:
        """Which share of the messages' time on the link lies before the last gradient was ready."""
        link = self.under_way()
        return spans.at_once([link, [(self.begin, self.begin + self.computing)]]) / spans.covered(link)

    def send(self, gradient: Any) -> Any:
        """Begins to average a gradient over all hosts; returns a future."""
        self.sent.append(perf_counter())
        self.sizes.append(gradient.nbytes)
        gradient.div_(dist.get_world_size())
        work = dist.all_reduce(gradient, async_op=True)

        def arrived(done: Any) -> torch.Tensor:
            self.arrived.append(perf_counter())
            return done.value()[0]

        return work.get_future().then(arrived)


class Way(StrEnum):
    """How gradients are averaged: not at all; without computing; one after another once all are ready; each as soon
    as it is; by PyTorch's DistributedDataParallel, which fills buckets."""

    ALONE = "alone"
    ONLY_SEND = "only send"
    AT_THE_END = "at the end"
    AS_READY = "as ready"
    DDP = "DDP"


WAYS = tuple(Way)


def train(rank: int, size: int, task: Task, how: Way | str) -> Step:
    """Returns what host ``rank`` of ``size`` saw of a forward and a backward pass, with its gradients averaged ``how``.

    Raises ValueError for another `Way`.
    """
    how = Way(how)
    process_group(rank, size)
    net, x, step, futures = task.net(), task.data(rank), Step(), list[Any]()
    model: Any = DistributedDataParallel(net, bucket_cap_mb=task.bucket_mib) if how is Way.DDP else net
    if how is Way.DDP:
        model.register_comm_hook(step, lambda step, bucket: step.send(bucket.buffer()))
    for _ in range(2 if how is Way.DDP else 1):  # after its first step DDP arranges its buckets
        net.zero_grad()
        model(x).square().mean().backward()
    weights = list(net.parameters())[::-1]  # as the backward pass reaches them
    if how is not Way.ONLY_SEND:
        net.zero_grad()
    step.sent, step.sizes, step.arrived = [], [], []
    for p in weights:
        p.register_post_accumulate_grad_hook(lambda p: step.ready.append(perf_counter()))
        if how is Way.AS_READY:
            p.register_post_accumulate_grad_hook(lambda p: futures.append(step.send(p.grad)))
    dist.barrier()
    step.begin = perf_counter()
    if how is not Way.ONLY_SEND:
        loss = model(x).square().mean()
        step.backward = perf_counter()
        loss.backward()
    if how in (Way.AT_THE_END, Way.ONLY_SEND):
        futures = [step.send(p.grad) for p in weights]
    torch.futures.wait_all(futures)
    step.gradient = weights[-1].grad
    dist.barrier()
    return step


def predict(alone: Step, sending: float, sizes: Sequence[int], *, at_the_end: bool = False) -> float:
    """Returns the seconds of a step whose messages have these ``sizes``, from a step ``alone``.

    ``sending`` is what all messages take without a computation beside them; each takes its share by size. A
    message is ready with the last of the layers in it; ``at_the_end``, with the last of all.
    """
    ready = [moment - alone.begin for moment in alone.ready]
    full = [round(len(ready) * end / sum(sizes)) - 1 for end in accumulate(sizes)]
    when = [ready[-1] if at_the_end else ready[layer] for layer in full]
    return max(ready[-1], finish(when, [sending * size / sum(sizes) for size in sizes]))


def hold_against(network: Network, task: Task, repeats: int = 7) -> tuple[dict[str, Measurement], dict[Way, Step]]:
    """Returns the seconds of each of `WAYS` on host 0, and its last steps by way.

    ``<way> fit`` is predicted over measured; each round predicts from its own ``alone`` and ``only send``.
    ``<way> hidden`` is which share of the messages' time on the link lies in the backward pass, ``<way> stretch``
    how long both passes take, over the same alone.
    """
    rows = []
    for _ in range(1 + repeats):
        steps = {how: network.run(train, network.hosts, task, how)[0] for how in WAYS}
        row = {how.value: step.seconds for how, step in steps.items()}
        for how in WAYS[2:]:
            told = predict(steps[Way.ALONE], row["only send"], steps[how].sizes, at_the_end=how is Way.AT_THE_END)
            row[f"{how} fit"] = told / row[how]
            row[f"{how} hidden"] = steps[how].hidden
            row[f"{how} stretch"] = steps[how].computing / steps[Way.ALONE].computing
        rows.append(row)
    units = {how.value: "s" for how in WAYS}
    units |= {f"{how} {what}": "1" for how in WAYS[2:] for what in ("fit", "hidden", "stretch")}
    return columns(rows[1:], units, environment("cpu")), steps  # the first round warms up


def balanced(network: Network, task: Task) -> Task:
    """Returns ``task`` with so many examples, in steps of 16, that the backward pass takes about as long as sending."""
    steps = [[network.run(train, network.hosts, task, how)[0] for how in (Way.ALONE, Way.ONLY_SEND)] for _ in range(4)]
    backward = median(alone.ready[-1] - alone.backward for alone, _ in steps[1:])  # the first round warms up
    sending = median(sent.seconds for _, sent in steps[1:])
    return replace(task, batch=max(16, 16 * round(task.batch * sending / backward / 16)))
