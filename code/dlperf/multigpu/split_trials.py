"""Strategies tried in turn on two devices and held against their formulas, as named measurements.

The chapter *Training on multiple GPUs, from scratch* records what they return.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.multigpu import split_costs, split_steps, splits, traffic
from dlperf.multigpu.group import Crew, device_of
from dlperf.multigpu.pipeline import bubble
from dlperf.multigpu.split_steps import Trace
from dlperf.multigpu.splits import Case, Sizes, Strategy
from dlperf.turns import columns

Found = dict[str, Measurement | float]
"""What an experiment found, by key: ready to be recorded."""

MICRO_BATCHES = (1, 4, 8)
EXACT = Sizes(256, 512, 64, torch.float64)
"""Small, in numbers that round late."""


def two_layers(sizes: Sizes | None = None, micro_batches: Sequence[int] = MICRO_BATCHES) -> list[Case]:
    """Returns the cases to try: by data, by layer, and by network with each number of micro-batches."""
    sizes = sizes or Sizes()
    alone = [Case(Strategy.DATA, sizes), Case(Strategy.LAYER, sizes)]
    return alone + [Case(Strategy.NETWORK, sizes, m) for m in micro_batches]


def gradient_errors(crew: Crew, sizes: Sizes = EXACT, micro_batches: int = 4) -> Found:
    """Returns how far two devices' gradients are from one device's, over the largest of them: ``data-error``, ….

    One device computes in float64 whatever the dtype of ``sizes`` is.
    """
    exact = Sizes(sizes.rows, sizes.width, sizes.hidden, torch.float64)
    whole = splits.step(exact.tensors(), exact.rows)
    found: Found = {}
    for strategy in Strategy:
        parts = crew.run(split_steps.gradients, Case(strategy, sizes, micro_batches))
        pairs = zip(splits.join(strategy, parts), whole, strict=True)
        found[f"{strategy.name.lower()}-error"] = max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)
    return found


def compare(crew: Crew, cases: Sequence[Case], repeats: int = 5) -> Found:
    """Returns what the steps of all cases cost, which take turns, by the case's key: ``layer-step``, ….

    ``-step`` are its seconds, ``-waiting`` the share of them in which devices do not compute, ``-computing`` the
    seconds of a device in which it does, on average. ``-bytes`` are what
    the host that sends most has sent, headers and acknowledgements included, and ``-bytes-ratio`` these over the
    prediction: only where devices are hosts. ``-memory-ratio`` is the most memory of a device over the prediction.
    By network, ``bubble-8`` is what ``network-8-waiting`` is, and ``bubble-8-predicted`` the formula.
    """
    rows = [_turn(crew, cases) for _ in range(repeats + 1)][1:]  # the first warms up
    units = {"step": "s", "waiting": "1", "computing": "s", "bytes": "B", "ratio": "1"}
    found: Found = {**columns(rows, {key: units[key.rpartition("-")[2]] for key in rows[0]}, _environment())}
    for case in cases:
        memory = max(crew.run(split_steps.peak, case))
        found[f"{case.key}-memory-ratio"] = memory / split_costs.predicted_memory(case)
        if case.strategy is Strategy.NETWORK:
            found[f"bubble-{case.micro_batches}"] = found[f"{case.key}-waiting"]
            found[f"bubble-{case.micro_batches}-predicted"] = bubble(2, case.micro_batches)
    return found


def _turn(crew: Crew, cases: Sequence[Case]) -> dict[str, float]:
    """Returns one step of each case in figures."""
    row = {}
    for case in cases:
        traces = crew.run(split_steps.step, case, crew.kind)
        row[f"{case.key}-step"] = seconds(traces)
        row[f"{case.key}-waiting"] = waiting(traces)
        row[f"{case.key}-computing"] = row[f"{case.key}-step"] * (1 - row[f"{case.key}-waiting"])
        if crew.kind == "host":
            sent = max(trace.sent for trace in traces)
            row[f"{case.key}-bytes"] = sent
            row[f"{case.key}-bytes-ratio"] = sent / traffic.on_wire(split_costs.predicted_bytes(case))
    return row


def seconds(traces: Sequence[Trace]) -> float:
    """Returns the seconds from when the first device began until the last had ended."""
    return max(trace.end for trace in traces) - min(trace.begin for trace in traces)


def waiting(traces: Sequence[Trace]) -> float:
    """Returns the share of that time in which devices do not compute, from zero to one."""
    available = len(traces) * seconds(traces)
    computing = sum(end - start for trace in traces for start, end in trace.computing)
    return min(1.0, max(0.0, 1 - computing / available)) if available > 0 else 0.0


def _environment() -> dict[str, object]:
    return environment(device_of(0, 2))
