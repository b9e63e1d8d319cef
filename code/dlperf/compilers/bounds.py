"""Bound the speedup of compiling and of a fused optimizer from a profile, corrected for the profiler's overhead.

A profiler makes a step longer, but hardly its kernels, so what it adds is taken to be the host's. ``plain`` are the
seconds of steps that nobody traced, and ``steps`` the traced ones of the same turns (`dlperf.profiles`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from dlperf.breakdown import KINDS, parts
from dlperf.measurement import Measurement
from dlperf.profiles import Interval, length

Step = Sequence[Interval]

_UPDATES = re.compile("multi_tensor_apply")
"""These kernels of a GPU update weights; the phases of a step are the host's, and do not tell when they run."""


def plain_shares(plain: Measurement, steps: Sequence[Step], on_gpu: bool = False) -> dict[str, float]:
    """Returns the share of each kind in a ``plain`` step: of the medians of all turns, so that they sum to 1.

    The host's is that of `host_seconds`, 0 at least.
    """
    found = _seconds(steps, lambda _: [], on_gpu)
    found["host"] = max(0.0, host_seconds(plain, steps, on_gpu).median)
    whole = sum(found.values())
    return {name: seconds / whole for name, seconds in found.items()}


def host_seconds(plain: Measurement, steps: Sequence[Step], on_gpu: bool = False) -> Measurement:
    """Returns the host's seconds in each ``plain`` step: less all else in the traced step of the same turn."""
    busy = [(1 - parts(step, on_gpu)["host"]) * length(step) for step in steps]
    return replace(plain, samples=tuple(a - b for a, b in zip(plain.samples, busy, strict=True)))


def host_share(plain: Measurement, steps: Sequence[Step], on_gpu: bool = False) -> Measurement:
    """Returns the host's share of each ``plain`` step, 0 at least: `host_seconds` over the step, turn by turn."""
    seconds = host_seconds(plain, steps, on_gpu)
    return replace(seconds, samples=tuple(max(0.0, s) for s in seconds.samples)) / plain


def kernel_seconds(steps: Sequence[Step], on_gpu: bool = False) -> dict[str, float]:
    """Returns the median seconds of each kind of kernel in traced ``steps``, outside the update of the weights."""
    return _kernels(_seconds(steps, lambda step: _updates(step, on_gpu), on_gpu))


def speedups(plain: Measurement, steps: Sequence[Step], on_gpu: bool = False) -> dict[str, float]:
    """Returns how many times as fast as ``plain`` each way makes a step at most.

    Both together leave the products. Of a CPU only: compiled, a step keeps the update's kernels, too; a fused update
    removes at most its phase, with what the profiler adds to it.
    """
    left = {"both": plain_shares(plain, steps, on_gpu)["products"]}
    if not on_gpu:
        everywhere, outside = _kernels(_seconds(steps, lambda _: [], on_gpu)), kernel_seconds(steps)
        kernels = sum(everywhere.values()) - sum(outside.values())
        update = median(sum(p.end - p.start for p in _phase(step)) for step in steps)
        left["blocks compiled"] = left["both"] + max(0.0, kernels / plain.median)
        left["fused update"] = 1 - update / plain.median
    return {name: 1 / min(1.0, max(share, 0.01)) for name, share in left.items()}


def _seconds(steps: Sequence[Step], drop: Callable[[Step], list[Interval]], on_gpu: bool) -> dict[str, float]:
    """Returns the median seconds of each kind in ``steps``, without the intervals that ``drop`` returns."""
    each = []
    for step in steps:
        dropped = set(drop(step))
        shares = parts([p for p in step if p not in dropped], on_gpu)
        each.append({name: share * length(step) for name, share in shares.items()})
    return {name: median(found[name] for found in each) for name in KINDS}


def _kernels(found: dict[str, float]) -> dict[str, float]:
    return {name: found[name] for name in ("products", "other kernels", "copies")}


def _phase(step: Step) -> list[Interval]:
    return [p for p in step if p.lane == "phase" and p.name == "update"]


def _updates(step: Step, on_gpu: bool) -> list[Interval]:
    """Returns the kernels that update weights."""
    kernels = [p for p in step if p.lane == "kernel"]
    if on_gpu:
        return [p for p in kernels if _UPDATES.search(p.name)]
    return [p for p in kernels if any(u.start <= p.start < u.end for u in _phase(step))]
