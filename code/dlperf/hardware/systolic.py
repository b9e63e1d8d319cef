"""A systolic array: a grid of multipliers that hand their operands on, cycle by cycle.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Run:
    """A product and what it took: ``cycles``, ``reads`` of one number each, multiplications with additions."""

    product: np.ndarray
    cycles: int
    reads: int
    operations: int

    @property
    def use(self) -> float:
        """The part of its time for which a multiplier is busy."""
        return self.operations / (self.cycles * self.product.size)


def multiply(a: np.ndarray, b: np.ndarray) -> Run:
    """Returns the product of two matrices, by a grid of multipliers.

    Each cycle, every multiplier takes a number from its left neighbour
    and one from above, adds their product to its own sum, and hands both
    on. Row i enters i cycles late, so that what belongs together meets.
    Raises ValueError for shapes that have no product.
    Source: H. T. Kung, Why Systolic Architectures?, Computer, 1982.
    """
    (n, k), (rows, m) = a.shape, b.shape
    if rows != k:
        why = f"{k} columns meet {rows} rows"
        raise ValueError(f"{a.shape} by {b.shape} is no product: {why}")
    right, down, total = np.zeros((3, n, m))
    cycles = k + n + m - 2
    for t in range(cycles):
        right[:, 1:], down[1:] = right[:, :-1].copy(), down[:-1].copy()
        for i in range(n):  # row i of a enters, i cycles late
            right[i, 0] = a[i, t - i] if 0 <= t - i < k else 0
        for j in range(m):
            down[0, j] = b[t - j, j] if 0 <= t - j < k else 0
        total += right * down
    return Run(total, cycles, a.size + b.size, n * k * m)
