"""Samples for what only hardware limits: the quickest of a few runs, for whatever disturbs them only adds time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch.utils import benchmark

from dlperf import turns
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import interleave


def seconds(run: Callable[[], Any], tries: int) -> float:
    """Returns the seconds of the quickest of so many calls."""
    best = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def quickest(
    runs: Mapping[str, Callable[[], Any]], repeats: int = 11, tries: int = 5, threads: int | None = None
) -> dict[str, Measurement]:
    """Returns the seconds of each run on the CPU: one sample of each in turn, the quickest of ``tries`` calls.

    A neighbour that takes the core away for a while then spoils no sample, unless it takes it for all the tries. Such
    samples answer how fast it could be. For how long something takes, use `dlperf.timing`.
    """
    with benchmark.set_torch_threads(threads or torch.get_num_threads()):
        for run in runs.values():
            run()
        taken = interleave({name: partial(seconds, run, tries) for name, run in runs.items()}, repeats, warm_up=0)
        env = environment("cpu")
    return {name: times.measurement(float, "s", name, 1, env) for name, times in taken.items()}


def single_calls(runs: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Measurement]:
    """Returns the seconds of single calls of each run, in turn, after one of each that is not counted."""
    taken = interleave({name: turns.seconds(run) for name, run in runs.items()}, repeats)
    env = environment("cpu")
    return {name: times.measurement(float, "s", name, 1, env) for name, times in taken.items()}
