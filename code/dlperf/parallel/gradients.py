"""Gradients on their way while the backward pass goes on: layer by layer, in buckets, or all at the end.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate
from statistics import median
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from dlperf import spans
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.models import resnet
from dlperf.network import Network, process_group
from dlperf.turns import columns


def messages(
    ready: Sequence[float],
    seconds: Sequence[float],
) -> list[spans.Span]:
    """Returns when each message is on the link.

    It begins once it is ``ready`` and the link is free.
    """
    found, free = [], 0.0
    for moment, taken in zip(ready, seconds, strict=True):
        start = max(free, moment)
        free = start + taken
        found.append((start, free))
    return found


@dataclass(frozen=True)
class Task:
    """A network, made by ``make``, that each host trains on ``batch`` images of its own.

    DDP puts gradients into buckets of up to ``bucket_mib`` MiB; None leaves that to it.
    """

    batch: int = 4
    bucket_mib: float | None = None
    make: Callable[[], nn.Module] = resnet.ResNet18

    def net(self) -> nn.Module:
        """Returns the network, the same one everywhere."""
        torch.manual_seed(0)
        return self.make()

    def data(self, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the images of host ``rank`` and their classes."""
        draw = torch.Generator().manual_seed(rank)
        images = torch.randn(self.batch, 3, 32, 32, generator=draw)
        return images, torch.randint(10, (self.batch,), generator=draw)


@dataclass
class Step:
    """When what happened in a training step, in seconds of `time.perf_counter`, which all processes here share.

    ``ready`` is when a gradient of so many bytes (``weighs``) was computed, ``sent`` when a message of so many bytes
    (``sizes``) was handed over, and ``arrived`` when its average was there. ``gradient`` is that of the first weights.
    """

    begin: float = 0.0
    backward: float = 0.0
    ready: list[float] = field(default_factory=list)
    weighs: list[int] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)
    gradient: torch.Tensor | None = None

    @property
    def seconds(self) -> float:
        """From the beginning of the forward pass until every gradient is there."""
        return max([*self.ready, *self.arrived]) - self.begin

    def under_way(self) -> list[spans.Span]:
        """Returns start and end of each message's time on the link."""
        return spans.queued(self.begin, self.sent, self.arrived)

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


class Strategy(StrEnum):
    """How gradients are averaged: not at all; without computing; one after another once all are ready; each as soon
    as it is; by PyTorch's DistributedDataParallel, which fills buckets."""

    ALONE = "alone"
    ONLY_SEND = "only send"
    AT_THE_END = "at the end"
    AS_READY = "as ready"
    DDP = "DDP"


WAYS = tuple(Strategy)


def sent_as_ready(model: nn.Module) -> list[Any]:
    """Has each gradient averaged as soon as it is there.

    Every host must get a gradient for the same weights: one that is
    missing on one host makes NCCL hang.

    Returns the messages under way, in a list that fills: `wait` for
    each before the optimizer's step.
    """
    under_way: list[Any] = []

    def send(weights: Any) -> None:
        weights.grad.div_(dist.get_world_size())
        message = dist.all_reduce(weights.grad, async_op=True)
        under_way.append(message)

    for weights in model.parameters():
        weights.register_post_accumulate_grad_hook(send)
    return under_way


@dataclass
class _Host:
    """What a host keeps from step to step: a network whose hooks tell of the ``step`` that is under way."""

    task: Task
    strategy: Strategy
    step: Step = field(default_factory=Step)
    futures: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.net = self.task.net()
        self.model: Any = self.net
        if self.strategy is Strategy.DDP:
            self.model = DistributedDataParallel(self.net, bucket_cap_mb=self.task.bucket_mib)
            self.model.register_comm_hook(self, lambda self, bucket: self.step.send(bucket.buffer()))
        for p in self.net.parameters():
            p.register_post_accumulate_grad_hook(self.ready)

    def ready(self, weights: torch.Tensor) -> None:
        """Notes that a gradient is there, and sends it if it is to be sent at once."""
        gradient = weights.grad
        assert gradient is not None
        self.step.ready.append(perf_counter())
        self.step.weighs.append(gradient.nbytes)
        if self.strategy is Strategy.AS_READY:
            self.futures.append(self.step.send(gradient))

    def run(self, rank: int) -> Step:
        """Returns what was seen of one step."""
        images, classes = self.task.data(rank)
        weights = list(self.net.parameters())[::-1]  # about as the backward pass reaches them
        if self.strategy is not Strategy.ONLY_SEND:
            self.net.zero_grad()
        self.step, self.futures = Step(), []
        dist.barrier()
        self.step.begin = perf_counter()
        if self.strategy is not Strategy.ONLY_SEND:
            loss = cross_entropy(self.model(images), classes)
            self.step.backward = perf_counter()
            loss.backward()
        if self.strategy in (Strategy.AT_THE_END, Strategy.ONLY_SEND):
            self.futures = [self.step.send(p.grad) for p in weights]
        torch.futures.wait_all(self.futures)
        self.step.gradient = weights[-1].grad
        dist.barrier()
        return self.step


_hosts: dict[tuple[Task, Strategy], _Host] = {}


def train(rank: int, size: int, task: Task, strategy: Strategy | str) -> Step:
    """Returns what host ``rank`` of ``size`` saw of forward and backward pass, gradients averaged by ``strategy``.

    A host keeps the network of each way, as long as batches have one size. Its first step warms up, and of DDP two,
    after which its buckets are arranged. Raises ValueError if ``how`` names no `Strategy`.
    """
    strategy = Strategy(strategy)
    process_group(rank, size)
    for done in [key for key in _hosts if key[0].batch != task.batch]:
        del _hosts[done]  # its network, gradients and buckets take hundreds of megabytes
    if (task, strategy) not in _hosts:
        made = _hosts[task, strategy] = _Host(task, strategy)
        for _ in range(2 if strategy is Strategy.DDP else 1):
            images, classes = task.data(rank)
            made.net.zero_grad()
            cross_entropy(made.model(images), classes).backward()
    return _hosts[task, strategy].run(rank)


def when_full(alone: Step, sizes: Sequence[int]) -> list[float]:
    """Returns when each message of these ``sizes`` is full, in seconds from the start of a step ``alone``.

    Gradients fill the messages as they become ready, in the order in which they do.
    """
    filled = list(accumulate(alone.weighs))
    last = len(filled) - 1
    return [alone.ready[min(bisect_left(filled, end), last)] - alone.begin for end in accumulate(sizes)]


def predict(alone: Step, sending: float, sizes: Sequence[int], *, at_the_end: bool = False) -> float:
    """Returns the seconds of a step whose messages have these ``sizes``, from a step ``alone``.

    ``sending`` is what all messages take without a computation beside them; each takes its share by size. A
    message is ready with the last of the gradients in it; ``at_the_end``, with the last of all.
    """
    end = alone.computing
    when = [end] * len(sizes) if at_the_end else when_full(alone, sizes)
    through = messages(when, [sending * size / sum(sizes) for size in sizes])
    return max(end, through[-1][1])


def hold_against(network: Network, task: Task, repeats: int = 7) -> tuple[dict[str, Measurement], dict[Strategy, Step]]:
    """Returns the seconds of each of `WAYS` on host 0, and its last steps by way.

    ``<way> predicted`` is in seconds, ``<way> predicted_over_measured`` a ratio; each round predicts from its own
    ``alone`` and ``only send``. ``<way> hidden`` is which share of the messages' time on the link lies in the backward
    pass, ``<way> stretch`` how long both passes take, over the same alone.
    """
    rows = []
    for _ in range(repeats):
        steps = {way: network.run(train, network.hosts, task, way)[0] for way in WAYS}
        row = {way.value: step.seconds for way, step in steps.items()}
        for way in WAYS[2:]:
            predicted = predict(
                steps[Strategy.ALONE], row["only send"], steps[way].sizes, at_the_end=way is Strategy.AT_THE_END
            )
            row[f"{way} predicted"], row[f"{way} predicted_over_measured"] = predicted, predicted / row[way]
            row[f"{way} hidden"] = steps[way].hidden
            row[f"{way} stretch"] = steps[way].computing / steps[Strategy.ALONE].computing
        rows.append(row)
    units = {way.value: "s" for way in WAYS} | {f"{way} predicted": "s" for way in WAYS[2:]}
    units |= {f"{way} {what}": "1" for way in WAYS[2:] for what in ("predicted_over_measured", "hidden", "stretch")}
    return columns(rows, units, environment("cpu")), steps


def _averaged(rank: int, size: int, task: Task) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the gradient of the first weights on host ``rank``: its own, and averaged by `sent_as_ready`."""
    process_group(rank, size)
    images, classes = task.data(rank)
    net, first = task.net(), list[Any]()
    for sending in (False, True):
        under_way = sent_as_ready(net) if sending else []
        net.zero_grad()
        cross_entropy(net(images), classes).backward()
        for message in under_way:
            message.wait()
        first.append(next(net.parameters()).grad)
    return first[0], first[1]


def difference(network: Network, task: Task) -> float:
    """Returns how far `sent_as_ready` is from the mean of the hosts' own gradients, over the largest value of it."""
    own, averaged = zip(*network.run(_averaged, network.hosts, task), strict=True)
    right = torch.stack(own).mean(0)
    return max(float((each - right).abs().max() / right.abs().max()) for each in averaged)


def balanced(network: Network, task: Task, largest: int = 64) -> Task:
    """Returns ``task`` with so many images, up to ``largest``, that the backward pass takes as long as sending."""
    steps = [
        [network.run(train, network.hosts, task, strategy)[0] for strategy in (Strategy.ALONE, Strategy.ONLY_SEND)]
        for _ in range(4)
    ]
    backward = median(alone.ready[-1] - alone.backward for alone, _ in steps[1:])  # the first round warms up
    sending = median(sent.seconds for _, sent in steps[1:])
    return replace(task, batch=min(largest, max(1, round(task.batch * sending / backward))))
