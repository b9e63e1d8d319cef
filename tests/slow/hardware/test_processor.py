"""The processor's probes on the machine at hand: their units, what physics forbids, and the arithmetic of rates.

That nothing is slower than any processor, and what is faster than what, `tests/long` asks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from dlperf.hardware import Unknown, branches, locks, matmul, processor, registers
from dlperf.hardware.probe import Probe
from dlperf.measurement import Measurement

POSSIBLE = {
    processor.clock_probe: ("1/s", 3e10),
    processor.latency_probe: ("s", 5e-11),
    processor.peak_probe: ("FLOP/s", 1e13),
    processor.peak_all_probe: ("FLOP/s", 1e15),
    branches.misprediction_probe: ("s", -math.inf),  # a difference of two times, either of which noise makes longer
    locks.mutex_probe: ("s", 1e-9),
    locks.atomic_probe: ("s", 1e-10),
    matmul.product_probe: ("FLOP/s", 1e15),
}
"""Units, and the least seconds or the highest rate that processors of the next twenty years may answer.

Whatever else runs only makes an answer slower.
"""
PROBES = (*processor.PROBES, *branches.PROBES, *locks.PROBES, *matmul.PROBES)


@pytest.mark.parametrize("probe", PROBES, ids=[probe.name for probe in PROBES])
def test_a_probe_answers_what_is_possible_or_says_why_not(probe: Probe) -> None:
    try:
        found = probe()
    except Unknown as unknown:
        pytest.skip(str(unknown))
    unit, bound = POSSIBLE[probe]
    assert found.unit == unit
    assert all(map(math.isfinite, found.samples))
    assert found.median > bound if unit == "s" else 0 < found.median < bound


def told(monkeypatch: pytest.MonkeyPatch, module: Any, cycles: Mapping[str, float], ghz: float = 2.0) -> None:
    """Has every run of ``module`` take so many cycles, by its name, of a clock of so many GHz; each runs once."""

    def quickest(runs: Mapping[str, Any], *_: object, **__: object) -> dict[str, Measurement]:
        for run in runs.values():
            run()
        return {name: Measurement((cycles[name] / ghz / 1e9,), "s", name, pairing_id="t") for name in runs}

    monkeypatch.setattr(module, "quickest", quickest)


def test_steps_per_cycle_are_those_of_all_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of steps that take four cycles each, alone and with seven others in the same time."""
    n = processor.STEPS
    told(monkeypatch, processor, {"clock": 2 * n, "1": 4 * n, "8": 4 * n})
    steps = processor.in_flight((1, 8))
    assert {k: m.median for k, m in steps.items()} == pytest.approx({1: 0.25, 8: 2})


def test_operations_per_cycle_count_every_number_of_a_vector_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many chains as there are registers, all of which advance by a step in a cycle."""
    widths = [w for w in (32, 128, 256, 512) if w <= registers.width()]
    n = processor.STEPS
    told(monkeypatch, processor, {"clock": 2 * n} | {str(("float32", w)): n for w in widths})
    rates = processor.wide(["float32"], repeats=1)
    assert {w: rates["float32", w].median for w in widths} == pytest.approx(
        {w: registers.plenty() * 2 * w / 32 for w in widths}
    )


def test_what_a_random_order_costs_is_counted_by_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten cycles for a value in random order and one for one in sorted order, at 2 GHz."""
    cycles = {"clock": 2 * branches.STEPS, "random 128": 10 * branches.COUNT, "sorted 128": 1 * branches.COUNT}
    told(monkeypatch, branches, cycles)
    extra = branches.random_and_sorted([128])
    assert {limit: m.median for limit, m in extra.items()} == pytest.approx({0: 0.5e-9, 128: 4.5e-9})
    assert branches.penalty(extra[128]).median == pytest.approx(9e-9)
