"""Two experiments on the batch, as named measurements: the critical batch size, and how to scale the learning rate.

The chapter *Training on multiple GPUs, from scratch* records what they return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, log
from statistics import median

import numpy as np

from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.multigpu import batch_size
from dlperf.multigpu.batch_size import Data

Found = dict[str, Measurement | float]
"""What an experiment found, by key: ready to be recorded."""

BATCHES = (4, 8, 16, 32, 64, 128, 256)
RATES = (0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
DEVICES = (1, 2, 4, 8, 16, 32)
SCHEDULES = "kept", "scaled", "warmup", "twice"
"""The learning rate of a larger batch: as before, k times as large, that with a warm-up, and twice as large as that."""
WARM_UP = 0.3
"""The share of all steps over which the rate rises."""
BROKEN = log(1.5)
"""So much more loss, which is half as much perplexity again, and a schedule counts as broken."""


def critical_batch(
    data: Data,
    batches: Sequence[int] = BATCHES,
    rates: Sequence[float] = RATES,
    target: float = 2.5,
    runs: int = 5,
    number: int = 4000,
) -> Found:
    """Returns the critical batch size, predicted from the noise of gradients and fitted to steps, by key.

    ``batch-steps-B`` are the steps of each run to the ``target`` loss at the best of the ``rates`` for the batch B,
    and ``number`` where it was not reached; ``batch-rate-B`` is that rate; ``batch-reached`` is the share of batches
    at which every run got there. ``batch-noise`` is the prediction, ``batch-critical`` and ``batch-least`` are what
    `fit` returns, in examples and steps; ``batch-noise-ratio`` is the first over the second, and ``batch-saved`` the
    steps of the smallest batch over those of the largest.
    """
    found: Found = {}
    own, averaged = batch_size.squared_norms(target, data, 16, 8, 1.6, range(runs), number=number)
    noise = min(max(0.0, batch_size.noise_scale(own, averaged, 16, 8)), float(len(data.targets)))
    medians, reached = [], []
    for batch in batches:
        rate, steps = best(batch_size.steps_to(target, data, batch, rates, range(runs), number=number))
        reached.append(inf not in steps)
        capped = [min(step, number) for step in steps]
        medians.append(median(capped))
        found[f"batch-steps-{batch}"] = Measurement(tuple(capped), "1", environment=environment(data.targets.device))
        found[f"batch-rate-{batch}"] = rate
    least, critical = fit(batches, medians)
    return found | {
        "batch-reached": sum(reached) / len(reached),
        "batch-noise": noise,
        "batch-critical": critical,
        "batch-least": least,
        "batch-noise-ratio": noise / max(critical, 1.0),
        "batch-saved": medians[0] / medians[-1],
    }


def best(found: Mapping[float, Sequence[float]]) -> tuple[float, Sequence[float]]:
    """Returns the learning rate that brought most seeds to the loss, and those soonest by the median; and its steps."""
    rate = min(found, key=lambda rate: (list(found[rate]).count(inf), median(found[rate])))
    return rate, found[rate]


def fit(batches: Sequence[int], steps: Sequence[float]) -> tuple[float, float]:
    """Returns S and B of steps = S (1 + B / batch): the least steps there are, and the critical batch size.

    By least squares of relative errors, S at least one step and B at least zero. Source: McCandlish et al., An
    Empirical Model of Large-Batch Training, 2018, equation 2.11.
    """
    needed = np.asarray(steps, dtype=float)
    rows = np.stack([1 / needed, 1 / (needed * np.asarray(batches))], axis=1)
    least, product = np.linalg.lstsq(rows, np.ones(len(needed)), rcond=None)[0]
    if product < 0:  # no batch needed more steps than a larger one
        return float(np.median(needed)), 0.0
    return max(1.0, float(least)), float(product / max(1.0, least))


def rate_rules(
    data: Data,
    rate: float,
    batch: int = 16,
    devices: Sequence[int] = DEVICES,
    runs: int = 5,
    n: int = 16_000,
) -> Found:
    """Returns the test losses after ``n`` examples on k devices, each with ``batch`` of them in a step, by key.

    One device has this ``rate``. ``rate-kept-B``, ``rate-scaled-B``, ``rate-warmup-B`` and ``rate-twice-B`` are those
    of the runs for a batch of B in all, one for each of `SCHEDULES`. With ``-lost-`` before the B, it is how much more
    the median is than that of one device. ``rate-scaled-breaks`` is the first B with `BROKEN` more or, where there is
    none, twice the largest; likewise for the others.
    """
    found: Found = {}
    medians: dict[str, list[float]] = {schedule: [] for schedule in SCHEDULES}
    here = environment(data.targets.device)
    for k in devices:
        schedules = (rate, 0.0), (rate * k, 0.0), (rate * k, WARM_UP), (2 * rate * k, 0.0)
        losses = batch_size.train(data, batch * k, schedules, range(runs), n=n)
        for schedule, each in zip(SCHEDULES, losses, strict=True):
            found[f"rate-{schedule}-{batch * k}"] = Measurement(tuple(each), "1", environment=here)
            medians[schedule].append(median(each))
    for schedule in SCHEDULES:
        lost = [each - medians["kept"][0] for each in medians[schedule]]
        found |= {f"rate-{schedule}-lost-{batch * k}": each for k, each in zip(devices, lost, strict=True)}
        broken = (batch * k for k, each in zip(devices, lost, strict=True) if each > BROKEN)
        found[f"rate-{schedule}-breaks"] = next(broken, 2 * batch * devices[-1])
    return found
