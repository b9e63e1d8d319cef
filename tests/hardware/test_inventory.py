"""What the system tells of a machine, read from a folder that looks like Linux's."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from dlperf.hardware.inventory import Cache, caches, disks, inventory, pcie_rate


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="ascii")


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    """Two cores with a first cache each and a last one for both, a virtual disk and one behind PCIe 4.0 x4."""
    for core in (0, 1):
        folder = tmp_path / f"devices/system/cpu/cpu{core}/cache"
        for index, (level, kind, size, sharers) in enumerate(
            (("1", "Data", "48K", str(core)), ("3", "Unified", "32768K", "0-1"))
        ):
            put(
                folder / f"index{index}",
                level=level,
                type=kind,
                size=size,
                shared_cpu_list=sharers,
                coherency_line_size="64",
            )
    for name, place in (("vda", "pci0/virtio1"), ("nvme0n1", "pci0/slot/nvme0")):
        (tmp_path / "devices" / place).mkdir(parents=True)
        put(tmp_path / "block" / name, size="2048", queue__rotational="1" if name == "vda" else "0")
        (tmp_path / "block" / name / "device").symlink_to(tmp_path / "devices" / place)
    put(tmp_path / "devices/pci0/slot", max_link_speed="16.0 GT/s PCIe", current_link_width="4")
    put(tmp_path / "block/loop0", size="2048")
    return tmp_path


def test_each_cache_is_found_once_with_those_who_share_it(linux: Path) -> None:
    first, second, last = caches(linux)
    assert (first.size, first.cores, second.cores) == (48 * 1024, (0,), (1,))
    assert last == Cache(3, "Unified", 32 * 2**20, 64, None, (0, 1))


def test_a_virtual_disk_is_not_believed_to_rotate(linux: Path) -> None:
    nvme, virtual = disks(linux)
    assert (virtual.name, virtual.kind, virtual.size, virtual.rate) == ("vda", "virtual", 2**20, None)
    assert (nvme.name, nvme.kind) == ("nvme0n1", "ssd")
    assert nvme.rate == pytest.approx(7.88e9, rel=1e-3)  # PCIe 4.0 x4, as its vendors print it


def test_a_lane_carries_what_the_standard_says() -> None:
    assert pcie_rate(2.5, 1) == 250e6
    assert pcie_rate(16.0, 16) == pytest.approx(31.5e9, rel=1e-3)
    assert pcie_rate(64.0, 16) == pytest.approx(118e9, rel=1e-3)
    with pytest.raises(ValueError, match="not at 3"):
        pcie_rate(3.0, 16)


def test_this_machine_is_described_without_guesses() -> None:
    machine = inventory()
    assert machine.processor
    assert machine.cores <= (psutil.cpu_count() or machine.cores)
    assert machine.memory == psutil.virtual_memory().total
