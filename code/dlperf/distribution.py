"""Samples as a distribution: how wide an interval is, how often it is right, how few samples lie at the mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dlperf.measurement import Measurement


def interval_width(m: Measurement, n: int, draws: int = 40, seed: int = 0) -> float:
    """Returns how wide a bootstrap interval from ``n`` of ``m``'s samples is on average, over ``m``'s median.

    ``n`` samples are drawn ``draws`` times, as if the experiment had stopped there. The whole width is
    meant, so 0.02 is plus or minus a hundredth. See the chapter *Measuring performance*.
    """
    rng = np.random.default_rng(seed)
    widths = []
    for _ in range(draws):
        low, high = Measurement(tuple(rng.choice(m.samples, n)), m.unit).interval(resamples=400)
        widths.append(high - low)
    return float(np.mean(widths)) / m.median


def coverage(
    population: Sequence[float], n: int, statistic: Callable[..., Any] = np.median, trials: int = 200, seed: int = 0
) -> float:
    """Returns how often the interval from ``n`` samples of ``population`` holds the population's ``statistic``.

    A 95 % interval that is right holds it in 0.95 of the trials.
    """
    rng = np.random.default_rng(seed)
    truth = statistic(np.asarray(population)[None, :], axis=1)[0]
    held = 0
    for _ in range(trials):
        low, high = Measurement(tuple(rng.choice(population, n))).interval(resamples=400, statistic=statistic)
        held += bool(low <= truth <= high)
    return held / trials


def same_against_same(m: Measurement, n: int, trials: int = 2000, seed: int = 0) -> np.ndarray:
    """Returns ``trials`` ratios of two medians, each of ``n`` samples of the same measurement.

    The true ratio is 1: whatever else comes out is what ``n`` runs of each side would report in error.
    """
    rng = np.random.default_rng(seed)
    one, other = (np.median(rng.choice(m.samples, (trials, n)), axis=1) for _ in range(2))
    return one / other


def farthest_by_chance(runs: Sequence[Sequence[float]], trials: int = 2000, seed: int = 0) -> float:
    """Returns the largest over the smallest median of ``runs`` that is typical if all have one distribution.

    ``runs`` has shape ``(processes, samples)``. Each is divided by its own median, so that only the scatter
    within a process is left, and as many are drawn from all of them together.
    """
    scatter = np.concatenate([np.asarray(run) / np.median(run) for run in runs])
    draws = np.random.default_rng(seed).choice(scatter, (trials, len(runs), len(runs[0])))
    medians = np.median(draws, axis=2)
    return float(np.median(medians.max(axis=1) / medians.min(axis=1)))


def near(m: Measurement, value: float, within: float = 0.1) -> float:
    """Returns the share of samples that lie within ``within`` (a ratio) of ``value``."""
    samples = np.asarray(m.samples)
    return float(np.mean(np.abs(samples - value) <= within * abs(value)))
