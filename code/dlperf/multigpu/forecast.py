"""How fast k devices will be: from what a step takes by itself, and a message by its size.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import floor
from statistics import median
from typing import Any

import numpy as np

from dlperf.hardware.alpha_beta import Line, fit
from dlperf.multigpu.scaling import Task, apart, exchange, together
from dlperf.turns import Turns, interleave

Run = Callable[..., list[Any]]
"""Runs a function in every process of a Group or on every host of a Network, as their ``run`` does."""

SIZES = 4, 2**12, 2**16, 2**20, 2**22, 2**25
"""The bytes of the messages by which a link is measured."""


def predict(
    compute: Line,
    link: Line,
    size: int,
    batch: int,
    k: int,
) -> float:
    """Returns the seconds of a step on k devices, from a `compute` line.

    Each computes for its share of the batch; then the gradients, of so
    many bytes, are exchanged in one message.
    """
    return compute(batch / k) + (link(size) if k > 1 else 0.0)


def efficiency(alone: float, together: float, k: int) -> float:
    """Returns which share of k devices a step uses, from its seconds on one and on k: 1 is k times as fast."""
    return alone / (k * together)


def largest(
    compute: float,
    exchange: float,
    fixed: float,
    least: float = 0.8,
) -> int:
    """Returns up to how many devices are used to at least a share.

    `compute` seconds of a step on one device, `fixed` of them however
    small the batch; `exchange` those of the gradients between two.
    """
    wasted = fixed + 2 * exchange  # by each further device
    return floor(1 + compute * (1 / least - 1) / wasted + 1e-9)


def longest(run: Run, fn: Callable[..., float], *args: Any) -> float:
    """Returns the seconds of the process that took longest."""
    return max(run(fn, *args))


def profile(run: Run, name: str, batches: Sequence[int], k: int, repeats: int = 5) -> Line:
    """Returns what a step takes by its examples, where k devices compute at once and exchange nothing.

    ``alpha`` is the seconds of a step without examples (its update among them), ``beta`` those of an example: the
    line of least squares of relative errors.
    """
    sides = {n: partial(longest, run, apart, Task(name, n * k), k) for n in batches}
    seconds = np.array([median(taken) for taken in interleave(sides, repeats).values()])
    beta, alpha = np.polyfit(batches, seconds, 1, w=1 / seconds)
    return Line(float(alpha), float(beta))


def link(run: Run, k: int, sizes: Sequence[int] = SIZES, repeats: int = 7) -> Line:
    """Returns what an all-reduce among k devices takes by the bytes of its message."""
    sides = {n: partial(longest, run, exchange, [n], k, 1 if n > 2**18 else 5) for n in sizes}
    return fit(sizes, [median(taken) for taken in interleave(sides, repeats).values()])


def stepped(
    run: Run, tasks: Sequence[Task], ks: Sequence[int], repeats: int = 5
) -> dict[tuple[Task, int], Turns[float]]:
    """Returns the seconds of a step of each task on each number of devices, all in turn."""
    sides = {(task, k): partial(longest, run, together, task, k) for task in tasks for k in ks}
    return interleave(sides, repeats)
