"""The processor's probes on the machine at hand: orders of magnitude that no noise turns, and no times."""

from __future__ import annotations

import pytest

from dlperf.hardware import Unknown, branches, locks, matmul, page_faults, processor, roofline
from dlperf.hardware.probe import Probe

PROBES = (*processor.PROBES, *branches.PROBES, *locks.PROBES, *matmul.PROBES)


@pytest.mark.parametrize("probe", PROBES, ids=[probe.name for probe in PROBES])
def test_a_probe_answers_or_says_why_not(probe: Probe) -> None:
    try:
        found = probe()
    except Unknown as unknown:
        pytest.skip(str(unknown))
    else:
        assert found.median > 0
        assert found.environment["device"]


def test_independent_chains_overlap() -> None:
    steps = processor.in_flight((1, 8))
    assert steps[8].median > 1.5 * steps[1].median


def test_wide_vectors_do_more() -> None:
    rates = processor.wide(["float32"], repeats=5)
    assert rates["float32", 128].median > 2 * rates["float32", 32].median


def test_sorted_values_are_predicted() -> None:
    assert branches.random_and_sorted([128])[128].median > 0


def test_operations_run_and_are_measured() -> None:
    ops = [roofline.triad("cpu"), *roofline.products("cpu", {"product": (8, 8, 8)})]
    assert all(m.median > 0 for m in roofline.measured(ops, "cpu", repeats=2).values())


def test_large_pages_take_fewer_interruptions() -> None:
    try:
        _, faults = page_faults.price_with_large_pages()
    except Unknown as unknown:
        pytest.skip(str(unknown))
    assert faults <= 4 * page_faults.LENGTH / 4096 + 100
