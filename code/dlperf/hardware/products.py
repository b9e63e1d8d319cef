"""The products of a step and of its variants, with another layout or mini-batch, each timed alone.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial

import torch

from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.measuring.coverage import Call, call
from dlperf.models.cost import Operator, operators
from dlperf.timing import clock
from dlperf.turns import columns, interleave


def in_turn(
    variants: Mapping[str, Callable[[], object]],
    device: torch.device | str,
    repeats: int = 5,
    now: Callable[[], float] | None = None,
) -> dict[str, Measurement]:
    """Returns the seconds of all products of a step together, each alone, for each of its ``variants``.

    At each product the variants take turns, which is why they need equally many, in the same order; ValueError
    otherwise. Those of the same sizes are timed once. ``now`` is the clock, by default that of ``device``.
    """
    asked = {name: [op for op in operators(step) if op.flops] for name, step in variants.items()}
    counts = {name: len(ops) for name, ops in asked.items()}
    if len(set(counts.values())) != 1:
        raise ValueError(f"variants of a step need equally many products each, got {counts}")
    alike = defaultdict[tuple[Call, ...], list[tuple[Operator, ...]]](list)
    for ops in zip(*asked.values(), strict=True):
        alike[tuple(map(call, ops))].append(ops)
    taken = []
    for group in alike.values():
        calls = {name: op.alone() for name, op in zip(variants, group[0], strict=True)}
        sides = {name: partial(_seconds, run, now or clock(device)) for name, run in calls.items()}
        taken.append((len(group), interleave(sides, repeats)))
        del calls, sides  # one product's tensors at a time
    turns = min(len(samples) for _, each in taken for samples in each.values())
    rows = [{name: sum(n * each[name][turn] for n, each in taken) for name in variants} for turn in range(turns)]
    return columns(rows, dict.fromkeys(variants, "s"), environment(device))


def _seconds(run: Callable[[], object], now: Callable[[], float]) -> float:
    """Returns the seconds of one call."""
    start = now()
    run()
    return now() - start
