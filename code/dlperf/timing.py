"""Timing: a stopwatch for reading along, and measurements that may be quoted."""

from __future__ import annotations

import math
import sys
import time
import timeit
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.utils import benchmark

from dlperf.budget import seconds_left
from dlperf.device import is_gpu, synchronize, try_all_gpus
from dlperf.environment import environment
from dlperf.measurement import FEW, WIDE_SPREAD, FewSamplesWarning, Measurement
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


def clock(device: torch.device | str | None = None) -> Callable[[], float]:
    """Returns a clock in seconds that waits for ``device`` before it is read; without one, for every GPU here.

    `torch.utils.benchmark.timer` would wait for the current GPU only, whichever was meant.
    """
    devices = [torch.device(device)] if device is not None else try_all_gpus()
    gpus = list(filter(is_gpu, devices))

    def now() -> float:
        synchronize(*gpus)
        return timeit.default_timer()

    return now if gpus else timeit.default_timer


def _clock(fn: Callable[[], Any], device: torch.device | str | None) -> tuple[timeit.Timer, int]:
    """Returns a timer for ``fn``, and the calls per sample that hide the cost of `clock`."""
    if not callable(fn):
        raise TypeError(f"measure needs a function to call, got {type(fn).__name__}; wrap it in a lambda")
    timer = clock(device)
    fn()  # whatever happens only once, such as compiling, must not decide how many calls make a sample
    # PyTorch picks the block size, which warms up too: 0.1 ms or more here. Where the clock waits for a GPU, PyTorch
    # would make its cost a ten-thousandth of a sample of up to a second; with less time it settles for a thousandth.
    pilot = benchmark.Timer("fn()", globals={"fn": fn}, num_threads=torch.get_num_threads(), timer=timer)
    run_time = 0.1 if timer is timeit.default_timer else 0.02
    return timeit.Timer(fn, timer=timer), pilot.blocked_autorange(min_run_time=run_time).number_per_run


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
    falls on all of them and their ratio stays meaningful. Warm-up and block size are
    `torch.utils.benchmark`'s. ``num_threads`` defaults to PyTorch's current number. ``device`` is where
    the work runs: it goes into the record, and the clock waits for it; without it, for every GPU here.
    Once ``max_seconds`` have passed, the turn in progress is the last. In a notebook whose cells have a
    limit (`dlperf.budget`), a comparison takes about a tenth of what the cell has left, or five turns,
    but for these at most half of it. A `FewSamplesWarning` tells of fewer than five.
    """
    with benchmark.set_torch_threads(num_threads or torch.get_num_threads()):
        clocks = {name: _clock(fn, device) for name, fn in functions.items()}
        sides = {name: partial(timer.timeit, number) for name, (timer, number) in clocks.items()}
        left = seconds_left()
        limit = lambda turns: min(max_seconds, left / (10 if turns >= FEW else 2))
        # choosing the size of a block has warmed up
        blocks = interleave(sides, repeats, warm_up=0, enough=lambda turns, seconds: seconds > limit(turns))
        turns = min(map(len, blocks.values()), default=0)
        if turns < min(FEW, repeats):
            few = f"{', '.join(functions)}: {turns} samples each, their time of {limit(turns):.3g} s was used up"
            warnings.warn(few, FewSamplesWarning, stacklevel=_caller())
        env = environment(device)
    return {name: _checked(taken.per_call(name, clocks[name][1], env)) for name, taken in blocks.items()}


def measure(fn: Callable[[], Any], description: str = "", **options: Any) -> Measurement:
    """Returns the time per call of ``fn`` in seconds; options as in `compare`."""
    return compare({description: fn}, **options)[description]


def _checked(m: Measurement) -> Measurement:
    if m.spread > WIDE_SPREAD:
        text = f"{m.description or 'measurement'}: {m.summary()} spreads widely"
        warnings.warn(text, SpreadWarning, stacklevel=_caller())
    return m


def _caller() -> int:
    """Returns how many frames above the function that calls this one the first one outside of this module lies."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_code.co_filename == __file__:
        frame, level = frame.f_back, level + 1
    return level
