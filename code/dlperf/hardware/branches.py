"""Measure the cost of a branch misprediction, by a loop over random and over sorted values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from dlperf.hardware.minimum import quickest
from dlperf.hardware.probe import probe
from dlperf.hardware.processor import STEPS, TICK
from dlperf.hardware.registers import chains
from dlperf.measurement import Measurement

COUNT = 2**20
"""Values that a loop tests: so many that no processor learns their order by heart."""


@njit(nogil=True, cache=True)
def keep(values: np.ndarray, limit: int, kept: np.ndarray) -> int:
    """Returns how many ``values`` are below ``limit``; keeps where."""
    n = 0
    for i in range(len(values)):
        if values[i] < limit:
            kept[n] = i
            n += 1
    return n


def random_and_sorted(limits: Sequence[int], repeats: int = 11) -> dict[int, Measurement]:
    """Returns the extra seconds per value if the values stand in random order instead of sorted, by ``limit``.

    The values are 0 to 255, so a branch is taken with probability limit/256. At 0 stands the length of a cycle,
    measured in turn with them.
    """
    values = np.random.default_rng(0).integers(0, 256, COUNT).astype(np.uint8)
    orders = {"random": values, "sorted": np.sort(values)}
    kept = np.empty(COUNT, np.int32)
    cases: dict[str, Callable[[], Any]] = {
        f"{name} {x}": partial(keep, order, x, kept) for x in limits for name, order in orders.items()
    }
    cases["clock"] = partial(chains(*TICK), STEPS)
    times = quickest(cases, repeats, tries=3)
    extra = {0: replace(times["clock"], samples=tuple(t / (2 * STEPS) for t in times["clock"].samples))}
    for limit in limits:
        mixed, in_order = times[f"random {limit}"], times[f"sorted {limit}"]
        samples = tuple((r - s) / COUNT for r, s in mixed.pairs(in_order))
        extra[limit] = replace(mixed, samples=samples, description="extra")
    return extra


def penalty(extra: Measurement) -> Measurement:
    """Returns the seconds of one wrong prediction, given `random_and_sorted` at 128: half of the branches go wrong."""
    return replace(extra, samples=tuple(2 * t for t in extra.samples), description="misprediction")


@probe("branch misprediction", assumes="half of the branches on random values go wrong, none on sorted ones")
def misprediction_probe() -> Measurement:
    """Returns the seconds that a wrong prediction of a branch costs."""
    return penalty(random_and_sorted([128])[128])


PROBES = (misprediction_probe,)
