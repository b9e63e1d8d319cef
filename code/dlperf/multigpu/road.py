"""The road of the chapter: one step of ResNet-18 on several devices, whose exchange changes by one thing at a time.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from itertools import accumulate
from typing import Any

import torch.distributed as dist

from dlperf.alpha_beta import Line
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.models import steps
from dlperf.multigpu import reduce, reduce_costs
from dlperf.multigpu.data_parallel import Buckets, EachGradient, add_up, split_batch, train_batch
from dlperf.multigpu.group import Crew, device_of, first, own_device
from dlperf.multigpu.tracing import StepTrace, Tracer
from dlperf.parallel.gradients import messages
from dlperf.turns import columns, interleave

MIB = 2**20
BUCKET = 4 * MIB
"""The bytes of a bucket on the road."""


class Exchange(StrEnum):
    """How devices exchange gradients: one device has the whole batch, or they do not exchange; through device 0;
    around a ring; the same by PyTorch's all-reduce; each gradient as soon as it is there; in buckets."""

    ONE = "one"
    APART = "apart"
    FIRST = "first"
    RING = "ring"
    LIBRARY = "library"
    EACH = "each"
    BUCKETS = "buckets"


AT_THE_END: dict[Exchange, Callable[..., Any]] = {
    Exchange.FIRST: reduce.through_one,
    Exchange.RING: reduce.ring,
    Exchange.LIBRARY: dist.all_reduce,
}
"""The all-reduces that begin when the backward pass has ended."""

AllTraces = Sequence[StepTrace]
"""A step's traces, in order of rank."""


@cache
def _step(rank: int, size: int, batch: int) -> steps.Step:
    """Returns the model that a process keeps, the same everywhere, and the batch."""
    return steps.resnet_step(own_device(), batch)


def traced_step(rank: int, size: int, exchange: Exchange, k: int, batch: int) -> StepTrace:
    """Returns what device ``rank`` does in a step that the first ``k`` of ``size`` share; all begin at once."""
    group = first(k)
    own = _step(rank, size, batch)
    inputs, targets = split_batch(own.inputs, own.targets, rank, k)
    weights = list(own.model.parameters())
    dist.barrier(group=group)
    with Tracer(own.model, own.optimizer, inputs.device) as tracer:
        train = partial(train_batch, own.model, own.optimizer, inputs, targets, batch)
        if exchange in (Exchange.ONE, Exchange.APART):
            train(lambda: None)
        elif exchange in AT_THE_END:
            sum_up = AT_THE_END[exchange]
            train(partial(add_up, weights, tracer.all_reduce(partial(sum_up, group=group))))
        else:
            send = tracer.send(partial(dist.all_reduce, group=group, async_op=True))
            early = Buckets(weights, BUCKET, send) if exchange is Exchange.BUCKETS else EachGradient(weights, send)
            train(early.finish)
            early.close()
    return tracer.trace()


def seconds(traces: AllTraces) -> float:
    """Returns the seconds from when the first device began until the last had changed its weights."""
    return max(trace.end for trace in traces) - min(trace.begin for trace in traces)


def predict(exchange: Exchange, k: int, apart: StepTrace, sizes: Sequence[int], link: Line) -> float:
    """Returns the predicted seconds of a step with messages of these ``sizes``, from a step without an exchange.

    What is sent at the end comes on top. What is sent on the way begins when the last gradient of its message is
    there and the link is free, so that the step takes the longer of both, and the update.
    """
    algorithm = "first" if exchange is Exchange.FIRST else "ring"
    sending = [reduce_costs.seconds(algorithm, k, size, link) for size in sizes]
    if exchange in AT_THE_END:
        return apart.seconds + sum(sending)
    filled = list(accumulate(apart.gradient_bytes))
    last = len(filled) - 1
    full = [apart.ready[min(bisect_left(filled, end), last)] - apart.begin for end in accumulate(sizes)]
    backward_end = apart.backward_end - apart.begin
    return max(backward_end, messages(full, sending)[-1][1]) + apart.end - apart.update


@dataclass(frozen=True)
class Road:
    """What some exchanges of the road took, and the traces of a typical step of each (that of the median)."""

    measured: dict[str, Measurement]
    traces: dict[Exchange, AllTraces]


UNITS = {
    "step": "s",
    "rate": "1/s",
    "waiting": "s",
    "stretch": "1",
    "extra": "s",
    "predicted": "s",
    "ratio": "1",
    "speedup": "1",
}


def measure(crew: Crew, exchanges: Sequence[Exchange], k: int, batch: int, link: Line, repeats: int = 7) -> Road:
    """Returns what steps of ResNet-18 took by each of the ``exchanges``; see `compare`.

    They take turns with one device, and with devices that exchange nothing.
    """
    sides = {side: 1 if side is Exchange.ONE else k for side in (Exchange.ONE, Exchange.APART, *exchanges)}
    steps = {side: partial(crew.first(n).run, traced_step, side, n, batch) for side, n in sides.items()}
    device = device_of(0, k)
    where = environment(device if crew.kind == "GPU" else "cpu")
    return compare(interleave(steps, repeats), k, batch, link, where)


def compare(
    taken: Mapping[Exchange, Sequence[AllTraces]], k: int, batch: int, link: Line, where: dict[str, Any]
) -> Road:
    """Returns the figures of steps that took turns, by ``<exchange>-<name>``.

    ``step`` in seconds and ``rate`` in examples per second; ``waiting``, the seconds in which the first device only
    waits for gradients; ``speedup``, over one device; ``stretch``, its computing over the same without an exchange;
    ``predicted``, the seconds that `predict` gives from the same turn's step without an exchange, and ``ratio``,
    predicted over measured; ``extra``, the seconds of a core that the exchange takes in the first process.
    """
    turns = [dict(zip(taken, turn, strict=True)) for turn in zip(*taken.values(), strict=True)]
    rows = [
        {f"{side}-{name}": value for side in taken for name, value in _figures(side, k, batch, turn, link).items()}
        for turn in turns
    ]
    units = {name: UNITS[name.split("-")[1]] for name in rows[0]}
    middle = {side: sorted(each, key=seconds)[len(each) // 2] for side, each in taken.items()}
    return Road(columns(rows, units, where), middle)


def _figures(side: Exchange, k: int, batch: int, turn: Mapping[Exchange, AllTraces], link: Line) -> dict[str, float]:
    """Returns the figures of one turn of one side."""
    taken, first = seconds(turn[side]), turn[side][0]
    apart = max(turn[Exchange.APART], key=lambda trace: trace.seconds)  # for whom the others wait
    found = {"step": taken, "rate": batch / taken}
    if side is Exchange.ONE:
        return found
    found |= {"speedup": seconds(turn[Exchange.ONE]) / taken, "waiting": first.waiting}
    if side is Exchange.APART:
        return found
    predicted = predict(side, k, apart, first.message_bytes, link)
    alone = turn[Exchange.APART][0]
    stretch = first.computing / alone.computing
    extra = first.processor - alone.processor
    return found | {"predicted": predicted, "ratio": predicted / taken, "stretch": stretch, "extra": extra}
