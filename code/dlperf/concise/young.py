"""Compute optimal checkpoint intervals (Young, Daly) and the time lost to failures, by formula and by simulation.

Young, *A first order approximation to the optimum checkpoint interval*, 1974; Daly, *A higher order estimate of the
optimum checkpoint interval for restart dumps*, 2006. The chapter *Parameter servers* uses them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def interval(cost: float, mtbf: float) -> float:
    """Returns Young's seconds of training between two checkpoints.

    A checkpoint stops the training for ``cost`` seconds, and it fails every ``mtbf`` seconds in the mean.
    """
    _check(cost, mtbf)
    return math.sqrt(2 * cost * mtbf)


def daly(cost: float, mtbf: float) -> float:
    """Returns Daly's interval in seconds, which are good for a ``cost`` near ``mtbf`` too."""
    _check(cost, mtbf)
    if cost >= 2 * mtbf:
        return mtbf
    x = cost / (2 * mtbf)
    return math.sqrt(2 * cost * mtbf) * (1 + math.sqrt(x) / 3 + x / 9) - cost


def lost(every: float, cost: float, mtbf: float, restart: float = 0) -> float:
    """Returns the share of all time that is no progress, to first order.

    Of the checkpoints, of half an interval that each failure undoes, and of the ``restart`` seconds after it.
    """
    extra = cost / every + (every / 2 + restart) / mtbf
    return extra / (1 + extra)


def lost_exactly(every: float, cost: float, mtbf: float, restart: float = 0) -> float:
    """Returns the share of all time that is no progress where failures come at random, at a constant rate.

    By Daly: a piece of work and its checkpoint are begun again until no failure falls into them, nor into
    the restart.
    """
    wall = mtbf * math.exp(restart / mtbf) * math.expm1((every + cost) / mtbf)
    return 1 - every / wall


def simulate(
    every: float,
    cost: float,
    gaps: NDArray[np.float64],
    restart: float = 0,
    writing: float = 0,
) -> float:
    """Returns the share of all time that is no progress, over failures
    with ``gaps`` seconds of running between them.

    A checkpoint counts ``writing`` seconds after the training goes on.
    """
    saved = np.floor((gaps - writing) / (every + cost)).clip(0)
    return 1 - every * saved.sum() / (gaps.sum() + restart * len(gaps))


def failures(mtbf: float, number: int = 20_000, shape: float = 1, seed: int = 0) -> NDArray[np.float64]:
    """Returns the seconds of running before each failure, ``mtbf`` in the mean, drawn from a Weibull distribution.

    Of ``shape`` 1 it is exponential: failures at a constant rate. Below 1 they come in clusters, as in the field.
    """
    draw = np.random.default_rng(seed).weibull(shape, number)
    return draw * mtbf / math.gamma(1 + 1 / shape)


def job_mtbf(devices: int, device_mtbf: float) -> float:
    """Returns the seconds between failures of a job that stops with any one of its ``devices``."""
    if devices < 1:
        raise ValueError(f"a job has at least one device, got {devices}")
    return device_mtbf / devices


def _check(cost: float, mtbf: float) -> None:
    if not (cost > 0 and mtbf > 0):
        raise ValueError(f"a checkpoint's cost and the MTBF are positive seconds, got {cost} and {mtbf}")
