"""The processor's probes on the machine at hand: orders of magnitude that no noise turns, and no times."""

from __future__ import annotations

import pytest

from dlperf.hardware import Unknown, branches, locks, matmul, processor
from dlperf.hardware.probe import Probe

POSSIBLE = {
    processor.clock_probe: ("1/s", 3e8, 3e10),
    processor.latency_probe: ("s", 5e-11, 5e-8),
    processor.peak_probe: ("FLOP/s", 1e9, 1e13),
    processor.peak_all_probe: ("FLOP/s", 2e9, 1e15),
    branches.misprediction_probe: ("s", 2e-10, 2e-7),
    locks.mutex_probe: ("s", 1e-9, 1e-6),
    locks.atomic_probe: ("s", 1e-10, 3e-7),
    matmul.product_probe: ("FLOP/s", 1e9, 1e15),
}
"""Units, and the least and the most that processors of the last and the next twenty years may answer: a wrong unit, or
an amount that is not counted, is a factor of a thousand and more."""
PROBES = (*processor.PROBES, *branches.PROBES, *locks.PROBES, *matmul.PROBES)


@pytest.mark.parametrize("probe", PROBES, ids=[probe.name for probe in PROBES])
def test_a_probe_answers_what_is_possible_or_says_why_not(probe: Probe) -> None:
    try:
        found = probe()
    except Unknown as unknown:
        pytest.skip(str(unknown))
    unit, least, most = POSSIBLE[probe]
    assert found.unit == unit
    assert least < found.median < most


def test_independent_chains_overlap() -> None:
    steps = processor.in_flight((1, 8))
    assert steps[8].median > 1.5 * steps[1].median


def test_wide_vectors_do_more() -> None:
    rates = processor.wide(["float32"], repeats=5)
    assert rates["float32", 128].median > 2 * rates["float32", 32].median


def test_sorted_values_are_predicted_and_so_is_what_always_happens() -> None:
    """Half of the branches on random values cost more than a cycle each; those that all go one way next to nothing."""
    extra = {limit: m.median for limit, m in branches.random_and_sorted([128, 256]).items()}
    cycle = extra[0]
    assert extra[128] > cycle
    assert abs(extra[256]) < extra[128] / 2
