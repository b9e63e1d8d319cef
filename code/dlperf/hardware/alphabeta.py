"""A transfer takes a latency, and a time for every byte: the model, its fit, and its check on sizes it never saw.

The chapter *Hardware* tells the story, of disks and of links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np


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
    """Returns the line with the least squares of *relative* errors: a short message counts as much as a long one."""
    n, t = np.asarray(sizes, float), np.asarray(seconds, float)
    alpha, beta = np.linalg.lstsq(np.stack([1 / t, n / t], 1), np.ones_like(t), rcond=None)[0]
    return Line(max(float(alpha), 0.0), max(float(beta), np.finfo(float).tiny))


def check(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[Line, float]:
    """Returns the line fitted to every other point, and the median relative error of the points between them."""
    line = fit(sizes[::2], seconds[::2])
    return line, median(abs(line(n) / t - 1) for n, t in zip(sizes[1::2], seconds[1::2], strict=True))
