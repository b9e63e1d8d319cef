"""The processor's probes: what is slower than any processor is a wrong unit; what should overlap does."""

from __future__ import annotations

import pytest

from dlperf.hardware import Unknown, branches, locks, matmul, processor
from dlperf.hardware.probe import Probe
from tests.slow.hardware.test_processor import POSSIBLE

SLOWEST = {
    processor.clock_probe: 3e8,
    processor.latency_probe: 5e-8,
    processor.peak_probe: 1e9,
    processor.peak_all_probe: 2e9,
    branches.misprediction_probe: 2e-7,
    locks.mutex_probe: 1e-6,
    locks.atomic_probe: 3e-7,
    matmul.product_probe: 1e9,
}
"""The most seconds or the lowest rate that a processor of the last twenty years may answer."""


@pytest.mark.parametrize("probe", SLOWEST, ids=lambda probe: probe.name)
def test_no_processor_is_that_slow(probe: Probe) -> None:
    try:
        found = probe()
    except Unknown as unknown:
        pytest.skip(str(unknown))
    unit, _ = POSSIBLE[probe]
    assert found.unit == unit
    assert found.median < SLOWEST[probe] if unit == "s" else found.median > SLOWEST[probe]


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
