"""The probes of the disk beside fio, and within what disks can be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dlperf.hardware import reference_tools, storage
from dlperf.hardware.probe import Probe, Unknown
from tests.long.tools import require
from tests.slow.hardware.test_storage import POSSIBLE

SLOWEST = {
    storage.read_at_random: 1,
    storage.write_at_random: 10,
    storage.write_and_keep: 10,
    storage.read_in_order: 10,
    storage.read_many: 10,
}
"""The most seconds, or for `read_many` the fewest reads per second, that a working disk answers."""


@pytest.fixture
def path() -> Iterator[Path]:
    """A file of 16 MiB on the disk."""
    try:
        with storage.scratch(2**24) as made:
            yield made
    except Unknown as unknown:
        pytest.skip(str(unknown))


@pytest.mark.parametrize("probe", storage.PROBES, ids=lambda probe: probe.name)
def test_no_disk_is_that_slow(probe: Probe) -> None:
    try:
        found = probe()
    except Unknown as unknown:
        pytest.skip(str(unknown))
    assert found.unit == POSSIBLE[probe][0]
    slowest = SLOWEST[probe]
    assert found.median > slowest if found.unit == "1/s" else found.median < slowest


def test_more_under_way_is_more_a_second_from_memory_too_or_not_much_less(path: Path) -> None:
    one, many = (storage.rate(path, storage.Accesses(2**12, depth), seconds=0.2).median for depth in (1, 16))
    assert many > 0.5 * one


def test_fio_and_the_probe_are_of_one_order(path: Path) -> None:
    require("fio")
    ours, theirs = storage.rate(path, storage.Accesses(2**12), seconds=0.2).median, reference_tools.fio(path, 2**12)
    assert 0.2 < ours / theirs < 5
