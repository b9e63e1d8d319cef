"""A step predicted from its operators: what each takes alone, which regime it is in, and how near its roof it comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from statistics import median
from typing import Any

import torch
from torch.utils.benchmark import Timer

from dlperf.environment import cache_bytes
from dlperf.measuring.model import Machine
from dlperf.measuring.pitfalls import clock_calls
from dlperf.models.cost import Operator
from dlperf.plot import COLORS
from dlperf.timing import clock
from dlperf.turns import Turns, interleave

Call = tuple[str, int, int]
"""A name, FLOPs and bytes."""
REGIMES = {"compute": COLORS[0], "memory": COLORS[4], "overhead": COLORS[1]}
"""The regimes of `Machine.regime`, with their colours."""


def each_alone(ops: Iterable[Operator]) -> dict[Call, float]:
    """Returns the seconds of each call alone.

    Calls of one name and size are timed once.
    """
    calls = {call(op): op for op in ops}
    return {key: alone(op) for key, op in calls.items()}


def in_turn(
    step: Callable[[], object], ops: Sequence[Operator], device: torch.device | str, repeats: int = 5
) -> tuple[Turns[float], Turns[dict[Call, float]]]:
    """Returns by turns the median seconds of three calls of ``step``, and those of each of its ``ops`` alone."""
    sides: dict[str, Callable[[], Any]] = {
        "step": lambda: median(clock_calls(step, 3, device)),
        "alone": lambda: each_alone(ops),
    }
    took = interleave(sides, repeats, warm_up=0)
    return took["step"], took["alone"]


def typical(turns: Sequence[Mapping[Call, float]]) -> dict[Call, float]:
    """Returns the median seconds of each call."""
    return {key: median(each[key] for each in turns) for key in turns[0]}


def call(op: Operator) -> Call:
    """Returns what stands for an operator and all others of its name and size."""
    return op.name, op.flops, op.bytes


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


def attained(ops: Iterable[Operator], here: Machine, seconds: Mapping[Call, float]) -> dict[str, float]:
    """Returns for each kind of operator what its calls take at the roof, over what they take alone."""
    roof, took = defaultdict[str, float](float), defaultdict[str, float](float)
    for op in ops:
        roof[op.name] += here.predict(op.flops, op.bytes)
        took[op.name] += seconds[call(op)]
    return {name: roof[name] / took[name] for name in roof}


def by_phase(ops: Iterable[Operator], seconds: Mapping[Call, float]) -> dict[str, float]:
    """Returns the predicted seconds of each phase of a step: the sum of its operators, each as it is alone."""
    phases = defaultdict[str, float](float)
    for op in ops:
        phases[op.phase] += seconds[call(op)]
    return dict(phases)


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
