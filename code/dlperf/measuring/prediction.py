"""A step predicted from its operators: what each takes alone, which regime it is in, and how near its roof it comes."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from statistics import median
from typing import Any

import torch
from torch.utils.benchmark import Timer

from dlperf.budget import seconds_left
from dlperf.environment import cache_bytes
from dlperf.measurement import FewSamplesWarning
from dlperf.measuring.coverage import Call, call, heaviest, is_pointwise, untimed, without_formula
from dlperf.measuring.model import Machine
from dlperf.measuring.pitfalls import clock_calls
from dlperf.models.cost import Operator
from dlperf.plot import COLORS
from dlperf.timing import clock
from dlperf.turns import InterleavedSamples, interleave

REGIMES = {"compute": COLORS[0], "memory": COLORS[4], "overhead": COLORS[1]}
"""The regimes of `Machine.regime`, with their colours."""


class UntimedWarning(UserWarning):
    """Some operators of a step were not timed alone, and no sum of seconds has them."""


class UncountedWarning(UserWarning):
    """An operator without a FLOP formula takes much of a step: its prediction knows only the bytes that it moves."""


A_LARGE_SHARE = 0.25
"""Of the operators' time: below it, an operator without a formula changes a step's prediction little."""


def each_alone(ops: Iterable[Operator]) -> dict[Call, float]:
    """Returns the seconds of each call alone.

    Calls of one name and size are timed once.
    """
    calls = {call(op): op for op in ops}
    return {key: alone(op) for key, op in calls.items()}


def in_turn(
    step: Callable[[], object],
    ops: Sequence[Operator],
    device: torch.device | str,
    repeats: int = 5,
    limit: float = 120.0,
) -> tuple[InterleavedSamples[float], InterleavedSamples[dict[Call, float]]]:
    """Returns by turns the median seconds of three calls of ``step``, and those of each of its ``ops`` alone.

    All turns together take about ``limit`` seconds at most, and about half of what the cell has left (`dlperf.budget`).
    The heaviest calls come first; those for which the time does not suffice are left out of every turn, and so are
    those that cannot be called alone. An `UntimedWarning` names them, with their share of the step (`untimed`), and an
    `UncountedWarning` each operator that takes much and has no FLOP formula. Where no cell has a limit, progress is
    told on standard error.
    """
    left = seconds_left()
    limit = min(limit, left / 2)
    tell = _Progress(print_every=10.0 if math.isinf(left) else math.inf)
    alone = _HeaviestFirst(ops, limit / repeats, tell)

    def enough(turns: int, taken: float) -> bool:
        tell(f"{turns} of {repeats} turns")
        return taken * (turns + 1) / turns > limit

    sides: dict[str, Callable[[], Any]] = {
        "step": lambda: median(clock_calls(step, 3, device)),
        "alone": alone,
    }
    took = interleave(sides, repeats, warm_up=0, enough=enough)
    turns = len(took["step"])
    if turns < repeats:
        few = f"the step and its operators: {turns} of {repeats} samples each, their {limit:.3g} s were used up"
        warnings.warn(few, FewSamplesWarning, stacklevel=2)
    if missing := untimed(ops, took["alone"][0]):
        warnings.warn(missing + alone.reasons(), UntimedWarning, stacklevel=2)
    for name, share in without_formula(ops, took["alone"][0]).items():
        if share > A_LARGE_SHARE and not is_pointwise(name):
            uncounted = f"{name} has no FLOP formula, and {share:.0%} of the operators' time: its FLOPs count as none"
            warnings.warn(uncounted, UncountedWarning, stacklevel=2)
    return took["step"], took["alone"]


class _Progress:
    """Prints what it is told on standard error, not more often than every so many seconds, the first after as many."""

    def __init__(self, print_every: float) -> None:
        self.every, self.start = print_every, time.perf_counter()
        self.last = self.start

    def __call__(self, text: str) -> None:
        now = time.perf_counter()
        if now - self.last >= self.every:
            self.last = now
            print(f"{text}, {now - self.start:.0f} s", file=sys.stderr, flush=True)


class _HeaviestFirst:
    """Times each call alone, the heaviest first, as far as the first turn gets in its ``limit``, and then the same.

    A turn begins before the step, and takes a tenth less, so that the others, which may be slower, are not cut off.
    """

    def __init__(self, ops: Iterable[Operator], limit: float, tell: Callable[[str], None]) -> None:
        self.ops, self.tell = heaviest(ops), tell
        self.start, self.limit = time.perf_counter(), 0.9 * limit
        self.begun = False
        self.failed: dict[str, str] = {}

    def __call__(self) -> dict[Call, float]:
        found: dict[Call, float] = {}
        begin = time.perf_counter()
        end = max(self.start + self.limit, begin + self.limit / 2)  # a slow step leaves the half of it
        for n, op in enumerate(self.ops):
            self.tell(f"{n} of {len(self.ops)} kinds of call timed alone")
            if not self.begun and found and time.perf_counter() > end:
                break
            try:
                found |= each_alone([op])
            except Exception as error:  # whatever a library raises for numbers that are not the step's
                self.failed.setdefault(op.name, str(error).partition("\n")[0])
        self.begun, self.ops = True, [op for op in self.ops if call(op) in found]
        return found

    def reasons(self) -> str:
        return "".join(f"; {name} cannot be called alone: {why}" for name, why in self.failed.items())


def typical(turns: Sequence[Mapping[Call, float]]) -> dict[Call, float]:
    """Returns the median seconds of each call that was timed in all turns."""
    return {key: median(each[key] for each in turns) for key in turns[0] if all(key in each for each in turns)}


def alone(op: Operator, seconds: float = 0.01) -> float:
    """Returns the median seconds of one call of ``op`` by itself, seen for about so many ``seconds``."""
    threads = torch.get_num_threads()  # else a Timer takes one
    timer = Timer("call()", globals={"call": uncached(op)}, timer=clock(), num_threads=threads)
    return timer.blocked_autorange(min_run_time=seconds).median


def uncached(op: Operator) -> Callable[[], object]:
    """Returns a call of ``op`` by itself, whose inputs have left the caches: in a step, too, others were there since.

    Calls take turns at copies of the inputs, which fill the last cache four times: what is changed in place counts
    once. There are 128 at most, so that inputs of less than a 32nd of that cache may still lie in it.
    """
    copies = min(1 + 4 * cache_bytes() // max(op.given, 1), 128)
    turns = cycle([op.alone() for _ in range(copies)])
    return lambda: next(turns)()


def attained(ops: Sequence[Operator], here: Machine, seconds: Mapping[Call, float]) -> dict[str, float]:
    """Returns for each kind of operator what its calls take at the roof, over what they take alone.

    Calls without ``seconds`` are left out; a kind of which no call has any attains nan.
    """
    names = dict.fromkeys(op.name for op in ops)
    roof, took = defaultdict[str, float](float), defaultdict[str, float](float)
    for op in _timed(ops, seconds):
        roof[op.name] += here.predict(op.flops, op.bytes)
        took[op.name] += seconds[call(op)]
    return {name: roof[name] / took[name] if took[name] else math.nan for name in names}


def by_phase(ops: Sequence[Operator], seconds: Mapping[Call, float]) -> dict[str, float]:
    """Returns the predicted seconds of each phase of a step: the sum of its operators, each as it is alone.

    Calls without ``seconds`` are left out; `untimed` names them.
    """
    phases = dict.fromkeys((op.phase for op in ops), 0.0)
    for op in _timed(ops, seconds):
        phases[op.phase] += seconds[call(op)]
    return phases


def _timed(ops: Iterable[Operator], seconds: Mapping[Call, float]) -> list[Operator]:
    return [op for op in ops if call(op) in seconds]


def by_regime(ops: Sequence[Operator], here: Machine) -> dict[str, float]:
    """Returns the share of the predicted time that is spent in operators of each regime."""
    seconds = dict.fromkeys(REGIMES, 0.0)
    for op in ops:
        seconds[here.regime(op.flops, op.bytes)] += here.predict(op.flops, op.bytes)
    return {name: each / sum(seconds.values()) for name, each in seconds.items()}


def draw_regimes(axes: Any, ops: Sequence[Operator], here: Machine) -> None:
    """Draws on matplotlib ``axes`` the predicted time of each layer, split by regime, the first layer on top."""
    place = lambda op: op.layer or (op.phase if op.phase == "update" else "rest")
    last = ("rest", "update")
    layers = [layer for layer in dict.fromkeys(map(place, ops)) if layer not in last] + list(last)
    for row, layer in enumerate(layers):
        left = 0.0
        for regime, color in REGIMES.items():
            mine = [op for op in ops if place(op) == layer and here.regime(op.flops, op.bytes) == regime]
            width = 1e3 * sum(here.predict(op.flops, op.bytes) for op in mine)
            axes.barh(row, width, left=left, color=color, height=0.7, label=regime if row == 0 else None)
            left += width
    axes.set(yticks=range(len(layers)), yticklabels=layers, xlabel="time (ms)")
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
