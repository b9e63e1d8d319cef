"""Samples as a distribution: how wide an interval is, how often it is right, how few samples lie at the mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dlperf.measurement import Measurement


def at_random(samples: Sequence[float], n: int, draws: int = 200, seed: int = 0) -> np.ndarray:
    """Returns ``draws`` rows of ``n`` of the ``samples``, each drawn by itself: independent by construction."""
    return np.random.default_rng(seed).choice(samples, (draws, n))


def in_a_row(samples: Sequence[float], n: int, draws: int = 200, seed: int = 0) -> np.ndarray:
    """Returns ``draws`` rows of ``n`` consecutive ``samples``: what an experiment of ``n`` calls would have seen.

    Raises ValueError where there are fewer samples than that.
    """
    if not 1 <= n <= len(samples):
        raise ValueError(f"of {len(samples)} samples, 1 to {len(samples)} stand in a row, not {n}")
    starts = np.random.default_rng(seed).integers(0, len(samples) - n + 1, draws)
    return np.lib.stride_tricks.sliding_window_view(samples, n)[starts]


def interval_width(rows: np.ndarray) -> float:
    """Returns how wide the bootstrap interval of the median is, over the median, on average over ``rows``.

    The whole width is meant, so 0.02 is plus or minus a hundredth. See the chapter *Measuring performance*.
    """
    intervals = [Measurement(tuple(row)).interval(resamples=400) for row in rows]
    return float(np.mean(np.ptp(intervals, axis=1)) / np.median(rows))


def width_of_medians(rows: np.ndarray, level: float = 95) -> float:
    """Returns how wide the middle ``level`` percent of the rows' medians spread, over their median.

    It is what `interval_width` promises from one row alone, if the samples in it are independent.
    """
    medians = np.median(rows, axis=1)
    low, high = np.percentile(medians, [50 - level / 2, 50 + level / 2])
    return float((high - low) / np.median(medians))


def slowest(m: Measurement) -> float:
    """Returns the largest sample over the median one."""
    return max(m.samples) / m.median


def coverage(rows: np.ndarray, truth: float, statistic: Callable[..., Any] = np.median) -> float:
    """Returns in which share of ``rows`` the bootstrap interval of ``statistic`` holds the ``truth``.

    A 95 % interval that is right holds it in 0.95 of them.
    """
    intervals = (Measurement(tuple(row)).interval(resamples=400, statistic=statistic) for row in rows)
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def same_against_same(samples: Sequence[float], n: int, trials: int = 2000, seed: int = 0) -> np.ndarray:
    """Returns ``trials`` ratios of two medians: of ``n`` consecutive ``samples``, and of the ``n`` right after them.

    All are of the same thing, so the true ratio is 1: whatever else comes out is what ``n`` calls of one side and then
    ``n`` of the other would report in error. Raises ValueError where there are fewer samples than ``2n``.
    """
    rows = in_a_row(samples, 2 * n, trials, seed)
    return np.median(rows[:, :n], axis=1) / np.median(rows[:, n:], axis=1)


def near(m: Measurement, value: float, within: float = 0.1) -> float:
    """Returns the share of samples that lie within ``within`` (a ratio) of ``value``."""
    samples = np.asarray(m.samples)
    return float(np.mean(np.abs(samples - value) <= within * abs(value)))
