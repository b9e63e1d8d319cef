"""The script that readers copy, started by torchrun as they would: all ranks end with one device's weights."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.multigpu.programs import environ
from tests.processes import DEADLINE_S


def weights(folder: Path, k: int) -> list[str]:
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", str(k), "--rdzv-backend", "c10d"]
    command = [sys.executable, *torchrun, "--rdzv-endpoint", "localhost:0", "-m", "dlperf.multigpu.plain"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environ(TMPDIR=str(folder)), timeout=4 * DEADLINE_S
    )
    assert done.returncode == 0, done.stderr
    found = re.findall(rf"rank \d of {k}: (-?\d+\.\d{{6}})", done.stdout)  # two may write into one line
    assert len(found) == k, done.stdout
    return found


def test_two_processes_end_with_the_weights_of_one(tmp_path: Path) -> None:
    (alone,) = weights(tmp_path, 1)
    found = weights(tmp_path, 2)
    assert found[0] == found[1]
    assert abs(float(found[0]) - float(alone)) < 1e-5
