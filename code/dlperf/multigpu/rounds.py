"""The three ways to split, timed in turn and held against their formulas.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dlperf.environment import environment
from dlperf.hardware.alpha_beta import Line
from dlperf.measurement import Measurement
from dlperf.multigpu import costs, pipeline, trials
from dlperf.multigpu.splits import Sizes, Way
from dlperf.network import GIGABIT, PAYLOAD
from dlperf.turns import columns

Run = Callable[..., list[Any]]
"""Calls ``fn(rank, size, *args)`` in every process, such as a group's ``run``."""
Case = tuple[Way, Sizes, int]
"""A way to split, what is split, and the number of micro-batches."""

BETA = 1 / (GIGABIT * PAYLOAD)
"""The seconds of a byte on a link of 1 Gbit/s, headers paid for."""


def took(seen: Sequence[trials.Seen]) -> float:
    """Returns the seconds from when the first device began until the last had ended."""
    return max(each.end for each in seen) - min(each.begin for each in seen)


def timed(run: Run, cases: Iterable[Case], repeats: int = 7, device: Any = "cpu") -> dict[Case, Measurement]:
    """Returns the seconds of a step of each case, which take turns."""
    cases = list(cases)
    rows = [{str(case): took(run(trials.step, *case)) for case in cases} for _ in range(repeats + 1)]
    found = columns(rows[1:], dict.fromkeys(rows[0], "s"), environment(device))  # the first turn warms up
    return {case: found[str(case)] for case in cases}


def held_against(run: Run, cases: Iterable[Case], repeats: int = 7) -> dict[Case, dict[str, Measurement]]:
    """Returns what was seen of each case over links of 1 Gbit/s, where all take turns.

    ``step`` are the seconds, ``told`` those predicted from the same turn's latency and computation alone, and ``fit``
    told over step. By data and by layer, ``sum`` is told over the longer of computing and sending. By network,
    ``idle`` is the share of their time in which devices do not compute, ``told idle`` what the schedule says of it.
    """
    cases, rows, units = list(cases), [], dict[str, str]()
    for _ in range(repeats + 1):
        line = Line(run(trials.latency)[0], BETA)
        row = {}
        for case in cases:
            for name, (value, unit) in _turn(run, case, line).items():
                row[f"{case} {name}"], units[f"{case} {name}"] = value, unit
        rows.append(row)
    found = columns(rows[1:], units, environment("cpu"))
    names = "step", "told", "fit", "sum", "idle", "told idle"
    return {case: {name: found[f"{case} {name}"] for name in names if f"{case} {name}" in found} for case in cases}


def _turn(run: Run, case: Case, line: Line) -> dict[str, tuple[float, str]]:
    way, sizes, micro_batches = case
    alone = [(one.back - one.begin, one.end - one.back) for one in run(trials.alone, *case)]
    seen = run(trials.step, *case)
    seconds, told = took(seen), costs.seconds(way, sizes, line, alone, micro_batches)
    row = {"step": (seconds, "s"), "told": (told, "s"), "fit": (told / seconds, "1")}
    if way is not Way.NETWORK:
        computing = max(map(sum, alone))
        return row | {"sum": (told / max(computing, told - computing), "1")}
    idle, lanes = pipeline.idle([one.computing for one in seen]), costs.lanes(sizes, line, alone, micro_batches)
    return row | {"idle": (idle, "1"), "told idle": (pipeline.idle(lanes), "1")}
