"""The disk under the folder for temporary files, and fio beside the probe."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dlperf.hardware import disks, reference_tools, storage
from dlperf.hardware.probe import Probe, Unknown

POSSIBLE = {
    storage.read_at_random: ("s", 1e-6, 1),
    storage.write_at_random: ("s", 1e-6, 10),
    storage.write_and_keep: ("s", 1e-6, 10),
    storage.read_in_order: ("s", 1e-5, 10),
    storage.read_many: ("1/s", 10, 1e8),
}
"""Units, and the least and the most that a disk may answer: the fastest ones answer in ten times the least."""


def leftovers() -> set[Path]:
    return set(Path(disks.folder()).glob("dlperf-*"))


@pytest.mark.parametrize("probe", storage.PROBES, ids=lambda probe: probe.name)
def test_probes_answer_or_refuse_and_leave_nothing(probe: Probe) -> None:
    before = leftovers()
    try:
        found = probe()
    except Unknown as unknown:
        pytest.skip(str(unknown))
    finally:
        assert leftovers() <= before
    unit, least, most = POSSIBLE[probe]
    assert found.unit == unit
    assert least < found.median < most


def test_more_under_way_is_more_a_second_from_memory_too_or_not_much_less() -> None:
    try:
        with storage.scratch(2**24) as path:
            one, many = (storage.rate(path, 2**12, depth, seconds=0.2).median for depth in (1, 16))
    except Unknown as unknown:
        pytest.skip(str(unknown))
    assert many > 0.5 * one


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_and_the_probe_are_of_one_order() -> None:
    try:
        with storage.scratch(2**24) as path:
            ours, theirs = storage.rate(path, 2**12, seconds=0.2).median, reference_tools.fio(path, 2**12)
    except Unknown as unknown:
        pytest.skip(str(unknown))
    assert 0.2 < ours / theirs < 5
