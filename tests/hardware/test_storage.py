"""Disks: what is read and written is what should be, refusals, and fio's answer."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest

from dlperf.environment import pinnable_cores
from dlperf.hardware import blocks, disks, reference_tools, storage
from dlperf.hardware.probe import Unknown
from dlperf.measurement import Measurement
from tests.processes import DEADLINE_S

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/root rw
23 22 0:21 / /dev/shm rw - tmpfs tmpfs rw
24 22 259:2 / /data rw shared:1 - xfs /dev/nvme0n1p2 rw
25 22 0:40 / /data/far\\040away rw - nfs4 server:/export rw
"""


def fake_system(root: Path) -> None:
    nvme = root / "devices/pci0000:00/nvme/nvme0n1"
    for folder in (nvme / "queue", nvme / "device", nvme / "nvme0n1p2", root / "dev/block"):
        folder.mkdir(parents=True)
    (nvme / "queue/rotational").write_text("0\n")
    (nvme / "queue/nr_requests").write_text("1023\n")
    (nvme / "device/model").write_text("A disk\n")
    (nvme / "nvme0n1p2/partition").write_text("2\n")
    (root / "dev/block/259:2").symlink_to(nvme / "nvme0n1p2")


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    fake_system(tmp_path / "sys")
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr(disks.shutil, "disk_usage", lambda _: SimpleNamespace(free=10**9))
    return tmp_path / "mounts", tmp_path / "sys"


def test_a_partition_has_its_disks_properties(system: tuple[Path, Path]) -> None:
    found = disks.disk("/data/set", *system)
    assert (found.file_system, found.device, found.model) == ("xfs", "nvme0n1", "A disk")
    assert (found.rotational, found.depth, found.virtual) == (False, 1023, False)


def test_the_longest_mount_point_decides_and_a_network_is_virtual(system: tuple[Path, Path]) -> None:
    far = disks.disk("/data/far away/set", *system)
    assert (far.file_system, far.device, far.virtual) == ("nfs4", "", True)
    assert disks.disk("/database", *system).file_system == "ext4"


def test_a_folder_in_memory_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks.tempfile, "gettempdir", lambda: "/dev/shm")
    (tmp_path / "mounts").write_text(MOUNTS)
    if Path("/dev/shm").is_dir() and os.access("/var/tmp", os.W_OK):
        assert disks.folder(tmp_path / "mounts") == "/var/tmp"
    (tmp_path / "mounts").write_text("23 1 0:21 / / rw - tmpfs tmpfs rw\n")
    assert disks.folder(tmp_path / "mounts") == "/dev/shm"


def test_what_the_system_does_not_tell_is_none(tmp_path: Path) -> None:
    found = disks.disk(str(tmp_path), tmp_path / "no mounts", tmp_path / "no sys")
    assert (found.file_system, found.device, found.rotational, found.virtual) == ("", "", None, None)


def run(loop: object, path: Path, block: np.ndarray, places: np.ndarray) -> int:
    """Runs a loop until it has been at all places; returns how often it was at one, or -1 if it failed."""
    done, stop = np.zeros(1, np.int64), np.zeros(1, np.int64)
    file = os.open(path, os.O_RDWR)
    worker = Thread(target=loop, args=(file, block, places, done, stop))
    worker.start()
    while done[0] < len(places) and not stop[0]:
        pass
    failed, stop[0] = stop[0] == 2, 1
    worker.join()
    os.close(file)
    return -1 if failed else int(done[0])


def test_read_fills_the_block_from_the_place(tmp_path: Path) -> None:
    content = np.random.default_rng(0).integers(0, 256, 4 * 512, np.uint8)
    (tmp_path / "file").write_bytes(content.tobytes())
    block = np.zeros(512, np.uint8)
    assert run(blocks.read, tmp_path / "file", block, np.array([1024])) >= 1
    assert (block == content[1024:1536]).all()


@pytest.mark.parametrize("loop", [blocks.write, blocks.write_through])
def test_write_puts_the_block_at_all_places(tmp_path: Path, loop: object) -> None:
    (tmp_path / "file").write_bytes(bytes(4 * 512))
    block = np.arange(512).astype(np.uint8)
    assert run(loop, tmp_path / "file", block, np.array([0, 1536])) >= 2
    written = np.frombuffer((tmp_path / "file").read_bytes(), np.uint8).reshape(4, 512)
    assert (written[[0, 3]] == block).all()
    assert not written[[1, 2]].any()


def test_reading_past_the_end_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(512))
    assert run(blocks.read, tmp_path / "file", np.zeros(512, np.uint8), np.array([512])) == -1


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "disk", lambda _: disks.Disk("", "ext4"))


def test_scratch_is_removed_on_errors_too(tmp_path: Path, on_disk: None) -> None:
    made = storage.scratch(2**22, str(tmp_path))
    path = made.__enter__()
    assert path.stat().st_size == 2**22
    assert not made.__exit__(KeyError, KeyError("x"), None)  # the error goes on
    assert not list(tmp_path.iterdir())


def test_scratch_refuses_memory_and_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "disk", lambda _: disks.Disk("", "tmpfs"))
    with pytest.raises(Unknown, match="kept in memory, not on a disk"), storage.scratch(2**22, str(tmp_path)):
        pass
    monkeypatch.setattr(storage, "disk", lambda _: disks.Disk("", "ext4"))
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20))
    with pytest.raises(Unknown, match="1 MiB free; the probe wants 16 MiB"), storage.scratch(2**22, str(tmp_path)):
        pass
    assert not list(tmp_path.iterdir())


def test_a_file_system_without_direct_access_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")

    def refuses(path: Path, flags: int) -> int:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(storage.os, "open", refuses)
    with pytest.raises(Unknown, match="does not pass by the page cache"), storage.opened(tmp_path / "file"):
        pass


@pytest.mark.parametrize("depth", [1, 3])
def test_a_rate_has_its_samples(tmp_path: Path, on_disk: None, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "TIMEOUT_S", DEADLINE_S)
    with storage.scratch(2**22, str(tmp_path)) as path:
        measured = storage.rate(path, storage.Accesses(2**12, depth), cached=True, seconds=0.01, samples=3)
    assert len(measured.samples) == 3
    assert measured.unit == "1/s"
    assert storage.each(measured).median == pytest.approx(1 / measured.median, rel=0.5)


def test_a_write_is_confirmed_only_where_the_probe_says_so(monkeypatch: pytest.MonkeyPatch, on_disk: None) -> None:
    """The literature's 30 µs are those of a write that the disk has taken, not of one that it has confirmed to keep."""
    loops: list[object] = []

    def rate(path: Path, asked: storage.Accesses) -> Measurement:
        loops.append(asked.loop)
        return Measurement((1.0,), "1/s")

    monkeypatch.setattr(storage, "rate", rate)
    storage.write_at_random.ask()
    storage.write_and_keep.ask()
    assert loops == [blocks.write, blocks.write_through]


def counting(every: float, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    """Returns a counter that grows each ``every`` seconds of the probe's clock, and a flag to stop.

    That clock moves when the probe sleeps.
    """
    done, stop, now = np.zeros(1, np.int64), np.zeros(1, np.int64), [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds
        done[0] = int(now[0] / every)

    monkeypatch.setattr(storage, "time", SimpleNamespace(sleep=sleep, perf_counter=lambda: now[0]))
    return done, stop


def test_a_slow_disk_is_counted_until_enough_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    done, stop = counting(0.02, monkeypatch)
    assert storage.finished(done, stop, 0.01) == pytest.approx(50, rel=0.01)
    assert done[0] == storage.MIN_OPERATIONS + 1  # the end of the first one starts the clock


def test_a_quick_disk_is_counted_for_as_long_as_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    done, stop = counting(0.001, monkeypatch)
    assert storage.finished(done, stop, 0.5) == pytest.approx(1000, rel=0.01)
    assert done[0] == pytest.approx(500, abs=5)


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_who_takes_the_core_away_makes_no_disk_faster(early: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses come right before or right after the clock is read; the disk works on, a block each millisecond."""
    done, stop, now, pauses = np.zeros(1, np.int64), np.zeros(1, np.int64), [0.0], random.Random(seed)

    def sleep(seconds: float) -> None:
        now[0] += seconds
        done[0] = int(now[0] * 1000)

    def perf_counter() -> float:
        before = now[0]
        sleep(pauses.choice((0.0, 0.0, 1e-4, 0.02)))
        return before if early else now[0]

    monkeypatch.setattr(storage, "time", SimpleNamespace(sleep=sleep, perf_counter=perf_counter))
    rate = storage.finished(done, stop, 0.05)
    assert 0 < rate <= 1000 * (1 + 1 / storage.MIN_OPERATIONS)  # an end may be seen the moment before the next


@pytest.mark.parametrize("in_order", [True, False])
def test_every_thread_asks_for_every_block_once(in_order: bool) -> None:
    """In order they follow each other, and the threads begin at other places; memory begins at a page."""
    asked = storage.Accesses(2**12, depth=2, in_order=in_order)
    first, second = asked.orders(8)
    assert sorted(first) == sorted(second) == list(range(0, 2**15, 2**12))
    assert list(first) != list(second) or not in_order
    if in_order:
        assert (list(first), second[0]) == (sorted(first), 2**14)
    mine, other = asked.buffers()
    assert len(mine) == len(other) == 2**12
    assert mine.ctypes.data % 2**12 == 0
    assert len(np.unique(mine)) > 100


def test_where_nothing_ends_the_rate_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    done, stop = counting(1e9, monkeypatch)
    assert storage.finished(done, stop, 0.01) == 0


def test_a_system_without_direct_access_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(storage.os, "O_DIRECT", raising=False)
    with pytest.raises(Unknown, match="no O_DIRECT"), storage.opened(tmp_path / "file"):
        pass


def test_fio_reads_are_found_behind_its_warnings() -> None:
    said = {
        "fio version": "fio-3.33",
        "jobs": [{"jobname": "trusted", "read": {"iops": 13521.5}, "write": {"iops": 0}}],
    }
    assert reference_tools.fio_reads("note: both iodepth >= 1 are set\n" + json.dumps(said)) == 13521.5


def test_one_core_is_given_back() -> None:
    free = pinnable_cores()
    with storage.one_core():
        assert len(pinnable_cores()) == min(1, len(free))
    assert sorted(pinnable_cores()) == sorted(free)
