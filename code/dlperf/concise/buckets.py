"""Buckets of gradients: which ones DistributedDataParallel fills, when they are through, and how large is best.

The chapter *Multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from dlperf.concise.ddp import loss_of, part
from dlperf.hardware.alpha_beta import Line
from dlperf.measurement import Measurement
from dlperf.parallel.gradients import Step, messages, when_full
from dlperf.turns import columns

MIB = 2**20
DEFAULT = 25 * MIB
FIRST = 1 * MIB
"""DDP's bytes of a bucket, and of its first one where nobody chooses: `torch.nn.parallel.distributed`."""


def fill(weighs: Sequence[int], cap: float, first: float | None = None) -> list[int]:
    """Returns the bytes of each bucket that gradients fill.

    A bucket is full once it holds ``cap`` bytes or more, the first one
    with ``first``.
    """
    found, held, limit = [], 0, cap if first is None else first
    for weight in weighs:
        held += weight
        if held >= limit:
            found.append(held)
            held, limit = 0, cap
    return found + [held] * (held > 0)


def predict(alone: Step, sizes: Sequence[int], link: Line) -> float:
    """Returns the seconds of a step whose messages have these sizes.

    ``alone`` is a step that sent nothing.
    """
    taken = [link(size) for size in sizes]
    through = messages(when_full(alone, sizes), taken)
    return max(alone.computing, through[-1][1])


def best_cap(total: float, link: Line) -> float:
    """Returns the bytes of a bucket for which latency and waiting at the end are least together.

    With ``total`` bytes in buckets of ``b``, latencies take ``alpha * total / b``, and the last bucket, which nothing
    hides, ``beta * b``.
    """
    return math.sqrt(total * link.alpha / link.beta)


def compared(
    runs: Mapping[Any, Sequence[Sequence[Step]]], alone: Any, link: Line, environment: dict[str, Any] | None = None
) -> dict[Any, dict[str, Measurement]]:
    """Returns, for each side but ``alone``, what process 0 measured and what was predicted, turn by turn.

    ``runs`` are the steps of all processes, for each side and turn. ``step`` is in seconds, ``told`` predicted from
    the same turn's ``alone``, ``fit`` that over measured; ``bound`` is the step over the longer of ``alone`` and of
    sending all gradients as one message; ``stretch`` and ``last stretch`` say how long both passes take in process 0,
    and in the last one, over the same alone.
    """
    units = {"step": "s", "told": "s", "fit": "1", "bound": "1", "stretch": "1", "last stretch": "1"}
    sides = [side for side in runs if side != alone]
    rows = []
    for turn, bare in enumerate(runs[alone]):
        row: dict[str, float] = {}
        for i, side in enumerate(sides):
            steps, seconds = runs[side][turn], runs[side][turn][0].seconds
            told = predict(bare[0], steps[0].sizes, link)
            longer = max(bare[0].computing, link(sum(steps[0].sizes)))
            stretches = [one.computing / other.computing for one, other in zip(steps, bare, strict=True)]
            values = seconds, told, told / seconds, seconds / longer, stretches[0], stretches[-1]
            row |= {f"{kind} {i}": value for kind, value in zip(units, values, strict=True)}
        rows.append(row)
    made = columns(rows, {f"{kind} {i}": unit for kind, unit in units.items() for i in range(len(sides))}, environment)
    return {side: {kind: made[f"{kind} {i}"] for kind in units} for i, side in enumerate(sides)}


def memory(rank: int, size: int, view: bool) -> tuple[int, int]:
    """Returns the bytes of a ResNet-18's gradients, and of all memory that these and DDP's buckets take."""
    own = part(rank, size, "ResNet-18", 1)
    model = DistributedDataParallel(own.model, gradient_as_bucket_view=view)
    held: dict[int, int] = {}

    def hold(tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        held[storage.data_ptr()] = storage.nbytes()

    def kept(buffer: Tensor) -> Future[Tensor]:
        hold(buffer)
        there: Future[Tensor] = Future()
        there.set_result(buffer)
        return there

    model.register_comm_hook(None, lambda state, bucket: kept(bucket.buffer()))  # DDP reads a function's annotations
    for _ in range(2):  # after the first step the buckets are arranged anew
        held.clear()
        loss_of(model, own.inputs, own.targets).backward()
    gradients = [p.grad for p in own.model.parameters() if p.grad is not None]
    for one in gradients:
        hold(one)
    return sum(one.nbytes for one in gradients), sum(held.values())
