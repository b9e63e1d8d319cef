"""A transfer takes a latency, and a time for every byte: the model, its fit, and its check on sizes it never saw.

The chapter *Hardware* tells the story, of disks and of links; the one on several GPUs predicts from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean


@dataclass(frozen=True)
class Line:
    """A link that takes ``alpha`` s for a message, and ``beta`` s for each of its bytes.

    Source: Hockney, The communication challenge for MPP, Parallel Computing 20 (1994).
    """

    alpha: float
    beta: float

    def __call__(self, size: float) -> float:
        """Returns the predicted seconds of a message of ``size`` bytes."""
        return self.alpha + self.beta * size

    @property
    def bandwidth(self) -> float:
        """The bytes per second of an endless message."""
        return 1 / self.beta

    @property
    def half(self) -> float:
        """The bytes of a message that gets half of the bandwidth: it takes as long as the latency."""
        return self.alpha / self.beta


def fit(sizes: Sequence[float], seconds: Sequence[float]) -> Line:
    """Returns the line with the least sum of absolute *relative* errors, with ``alpha`` and ``beta`` not negative.

    Relative, so that a short message counts as much as a long one; absolute, so that one bad point does not drag the
    line along. A best line passes through two of the points, so all pairs are tried. Raises ValueError where none
    will do, or a time is none. Source: Bloomfield and Steiger, Least Absolute Deviations, 1983, chapter 1.
    """
    points = list(zip(sizes, seconds, strict=True))
    lines = []
    if odd := [s for s in seconds if s <= 0]:
        raise ValueError(f"a message takes some time, not {odd[0]} s")
    for (n, s), (m, t) in combinations(points, 2):
        beta = (t - s) / (m - n) if m != n else 0.0
        if beta > 0 and (alpha := s - beta * n) >= 0:
            lines.append(Line(alpha, beta))
    if not lines:
        raise ValueError(f"no line with a latency and a time for each byte goes through {points}")
    return min(lines, key=lambda line: sum(abs(line(n) / t - 1) for n, t in points))


def _missed(line: Line, sizes: Sequence[float], seconds: Sequence[float]) -> float:
    return mean(abs(line(n) / t - 1) for n, t in zip(sizes, seconds, strict=True))


def check(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[Line, float]:
    """Returns the line fitted to every other point, and the mean relative error of the points between them.

    Not the median, which sees half of the points only: with a latency or without, a line meets the long messages.
    """
    line = fit(sizes[::2], seconds[::2])
    return line, _missed(line, sizes[1::2], seconds[1::2])
