"""The script that readers take home trains, on as many workers as its file says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec

from dlperf.kvstore import local
from tests.conftest import ROOT

SCRIPT = ROOT / "code" / "dlperf" / "servers" / "take_home.py"


def test_workers_learn_the_same_model(tmp_path: Path) -> None:
    config = local.config(servers=2, workers=2, copies=2)
    file = tmp_path / "cluster.json"
    file.write_bytes(msgspec.json.encode(config))
    with local.Cluster(config):
        workers = [
            subprocess.Popen([sys.executable, SCRIPT, file, str(worker)], stdout=subprocess.PIPE, text=True)
            for worker in range(2)
        ]
        try:
            said = [worker.communicate(timeout=120)[0] for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0]
    assert all(float(loss) < 1e-3 for loss in said)
