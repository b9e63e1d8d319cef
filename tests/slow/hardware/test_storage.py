"""The disk under the folder for temporary files, and how fio is asked about it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlperf.hardware import disks, reference_tools, storage
from dlperf.hardware.probe import Probe, Unknown
from tests import faked
from tests.processes import DEADLINE_S

POSSIBLE = {
    storage.read_at_random: ("s", 1e-6),
    storage.write_at_random: ("s", 1e-6),
    storage.write_and_keep: ("s", 1e-6),
    storage.read_in_order: ("s", 1e-5),
    storage.read_many: ("1/s", 1e8),
}
"""Units, and the least seconds or the highest rate that a disk may answer: the fastest take ten times as long."""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder on the disk that the probes use, with files of a quarter of the size."""
    with tempfile.TemporaryDirectory(dir=disks.folder()) as made:
        monkeypatch.setattr(storage, "usual_folder", lambda: made)
        monkeypatch.setattr(storage, "SIZE", 2**25)
        monkeypatch.setattr(storage, "TIMEOUT_S", DEADLINE_S)  # others may use the disk, too
        yield Path(made)


@pytest.mark.parametrize("probe", storage.PROBES, ids=lambda probe: probe.name)
def test_probes_answer_or_refuse_and_leave_nothing(probe: Probe, folder: Path) -> None:
    try:
        found = probe()
    except Unknown as unknown:
        pytest.skip(str(unknown))
    finally:
        assert not list(folder.iterdir())
    unit, bound = POSSIBLE[probe]
    assert found.unit == unit
    assert found.median > bound if unit == "s" else 0 < found.median < bound


def test_fio_does_what_the_probe_does(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a real fio the probe is held in `tests/long`."""
    log = faked.command("fio", json.dumps({"jobs": [{"read": {"iops": 13521.5}}]}), tmp_path, monkeypatch)
    path = folder / "file"
    path.write_bytes(bytes(2**16))
    assert reference_tools.fio(path, 2**12, 16) == 13521.5
    (call,) = map(json.loads, log.read_text().splitlines())
    wanted = {"--direct=1", "--rw=randread", "--bs=4096", "--numjobs=16", f"--filename={path}", f"--size={2**16}"}
    assert wanted <= set(call)
