"""A step predicted from its operators: what each costs, which regime it is in, and what each kind really reaches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import torch
from torch.utils.benchmark import Timer

from dlperf.measuring.model import Machine
from dlperf.models.cost import Operator
from dlperf.plot import COLORS
from dlperf.timing import clock

REGIMES = {"compute": COLORS[0], "memory": COLORS[4], "overhead": COLORS[1]}
"""The regimes of `Machine.regime`, with their colours."""


def attained(ops: Iterable[Operator], here: Machine) -> dict[str, float]:
    """Returns for each kind of operator which share of the roof it reaches.

    The largest call of each kind is timed alone; its share is what its
    work would take at the roof, over what it took besides the asking.
    """
    largest: dict[str, Operator] = {}
    for op in sorted(ops, key=lambda op: work(op, here)):
        largest[op.name] = op
    time = {name: [alone(op)] for name, op in largest.items()}
    for name, op in 2 * list(largest.items()):  # once more, and again
        time[name].append(alone(op))
    shares = {}
    for name, op in largest.items():
        asking = 0 if here.queued else here.overhead
        seconds = median(time[name])
        left = max(seconds - asking, 0.1 * seconds)
        shares[name] = work(op, here) / left or 1  # of nothing, all
    return shares


def work(op: Operator, here: Machine) -> float:
    """Returns the seconds of an operator at the roof, without the asking."""
    return max(here.costs(op.flops, op.bytes)[name] for name in ("compute", "memory"))


def taken(op: Operator, here: Machine, share: float) -> float:
    """Returns the predicted seconds of an operator that reaches a ``share`` of the roof."""
    seconds = work(op, here) / share
    return max(here.overhead, seconds) if here.queued else here.overhead + seconds


def alone(op: Operator, seconds: float = 0.05) -> float:
    """Returns the median seconds of one call of ``op`` by itself, seen for about so many ``seconds``."""
    threads = torch.get_num_threads()  # else a Timer takes one
    timer = Timer("call()", globals={"call": op.alone()}, timer=clock(), num_threads=threads)
    return timer.blocked_autorange(min_run_time=seconds).median


def by_phase(ops: Iterable[Operator], here: Machine, reached: dict[str, float]) -> dict[str, float]:
    """Returns the predicted seconds of each phase of a step, each kind of operator at the share that it reached."""
    seconds: dict[str, float] = defaultdict(float)
    for op in ops:
        seconds[op.phase] += taken(op, here, reached[op.name])
    return dict(seconds)


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
