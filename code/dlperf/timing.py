"""Timing: a stopwatch for reading along, and measurements that may be quoted."""

from __future__ import annotations

import math
import time
import timeit
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.utils import benchmark

from dlperf.device import synchronize
from dlperf.environment import environment
from dlperf.measurement import WIDE_SPREAD, Measurement
from dlperf.turns import interleave


class SpreadWarning(UserWarning):
    """The samples scatter so much that their median should not be compared closely."""


class Benchmark:
    """Prints ``description: 0.1234 sec`` for the block it surrounds.

    ``sync`` is a device, or several, to wait for at both ends. Without it the clock stops when the
    block returns, as a naive timer's would: chapters need that to show the mistake. ``seconds``
    holds the time afterwards.
    """

    def __init__(self, description: str = "done", sync: Any = None) -> None:
        self.description = description
        self.devices = sync if isinstance(sync, (list, tuple)) else [] if sync is None else [sync]
        self.seconds = math.nan

    def _wait(self) -> None:
        if self.devices:
            synchronize(*self.devices)

    def __enter__(self) -> Benchmark:
        self._wait()
        self._start = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._wait()
            self.seconds = time.perf_counter() - self._start
            print(f"{self.description}: {self.seconds:.4f} sec")


def _clock(fn: Callable[[], Any], device: torch.device | str | None) -> tuple[timeit.Timer, int]:
    """Returns a timer for ``fn``, and the calls per sample that hide the clock's cost.

    The clock waits for the GPU, unless ``device`` is said to be the CPU.
    """
    if not callable(fn):
        raise TypeError(f"measure needs a function to call, got {type(fn).__name__}; wrap it in a lambda")
    timer = benchmark.timer if device is None or torch.device(device).type != "cpu" else timeit.default_timer
    fn()  # whatever happens only once, such as compiling, must not decide how many calls make a sample
    # PyTorch picks the block size, which warms up too: 0.1 ms or more here, longer where its clock waits for a GPU.
    pilot = benchmark.Timer("fn()", globals={"fn": fn}, num_threads=torch.get_num_threads(), timer=timer)
    return timeit.Timer(fn, timer=timer), pilot.blocked_autorange(min_run_time=0.1).number_per_run


def compare(
    functions: dict[str, Callable[[], Any]],
    *,
    repeats: int = 30,
    num_threads: int | None = None,
    max_seconds: float = 20.0,
    device: torch.device | str | None = None,
) -> dict[str, Measurement]:
    """Returns the time per call of each function in seconds, all measured alternately.

    One sample of each is taken in turn, so that a change of clock frequency or a neighbour's load
    falls on all of them and their ratio stays meaningful. Warm-up, block size and clock are
    `torch.utils.benchmark`'s; the clock waits for the GPU. ``num_threads`` defaults to PyTorch's
    current number. Once ``max_seconds`` have passed, the turn in progress is the last. ``device`` is
    where the work runs: it goes into the record, and the CPU need not wait for a GPU.
    """
    with benchmark.set_torch_threads(num_threads or torch.get_num_threads()):
        clocks = {name: _clock(fn, device) for name, fn in functions.items()}
        sides = {name: partial(timer.timeit, number) for name, (timer, number) in clocks.items()}
        blocks = interleave(sides, repeats, warm_up=0, max_seconds=max_seconds)  # choosing their size warmed up
        env = environment(device)
    return {name: _checked(taken.per_call(name, clocks[name][1], env)) for name, taken in blocks.items()}


def measure(fn: Callable[[], Any], description: str = "", **options: Any) -> Measurement:
    """Returns the time per call of ``fn`` in seconds; options as in `compare`."""
    return compare({description: fn}, **options)[description]


def _checked(m: Measurement) -> Measurement:
    if m.spread > WIDE_SPREAD:
        warnings.warn(f"{m.description or 'measurement'}: {m.summary()} spreads widely", SpreadWarning, stacklevel=4)
    return m
