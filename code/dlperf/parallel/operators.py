"""The operators of a step: how long each takes on one thread and on several.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import torch

from dlperf import profiles


class Operator(NamedTuple):
    """An operator of a step: its ``name``, and its seconds ``alone`` on one thread and ``split`` among several."""

    name: str
    alone: float
    split: float


def paired(step: Callable[[], object], threads: int, rounds: int = 2) -> list[Operator]:
    """Returns the operators of a step on the CPU, each on one thread and on so many ``threads``: medians, in turn.

    ValueError where both do not call the same operators in the same order.
    """
    before, seen = torch.get_num_threads(), {1: list[list[profiles.Interval]](), threads: []}
    for _ in range(rounds):
        for number, runs in seen.items():
            torch.set_num_threads(number)
            [parts] = profiles.traces(step, "cpu", steps=1)
            runs.append([part for part in parts if part.lane == "kernel"])
    torch.set_num_threads(before)
    names = {tuple(part.name for part in run) for runs in seen.values() for run in runs}
    if len(names) != 1:
        raise ValueError(f"a step calls the same operators each time, got {len(names)} different orders")
    lengths = {
        n: [median(p.end - p.start for p in same) for same in zip(*runs, strict=True)] for n, runs in seen.items()
    }
    return [Operator(*each) for each in zip(names.pop(), lengths[1], lengths[threads], strict=True)]


class Group(NamedTuple):
    """Operators of about one length: their ``number``, their ``share`` of the time on one thread, their ``speedup``."""

    number: int
    share: float
    speedup: float


def by_length(operators: Sequence[Operator], borders: Sequence[float]) -> list[Group]:
    """Returns groups of operators by their seconds on one thread, between neighbouring ``borders`` and beyond them."""
    whole = sum(op.alone for op in operators)
    groups = []
    for low, high in pairwise((0.0, *borders, float("inf"))):
        own = [op for op in operators if low <= op.alone < high]
        alone, split = sum(op.alone for op in own), sum(op.split for op in own)
        groups.append(Group(len(own), alone / whole, alone / split if own else 1.0))
    return groups
