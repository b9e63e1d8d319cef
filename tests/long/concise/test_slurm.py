"""The script for Slurm that the page prints, as it is, on a cluster of one node."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlperf.concise import rungs
from tests.long.concise import slurm

SCRIPT = next(iter(rungs.SCRIPTS.values())).parent / "ddp.sbatch"
LIMIT_S = 600.0


def test_a_job_of_two_processes_trains_as_one_process_does(tmp_path: Path) -> None:
    if missing := slurm.missing():
        pytest.fail(f"not installed: {', '.join(missing)}; on Debian: apt install slurm-wlm munge")
    (tmp_path / "cluster").mkdir()
    folder = rungs.lay_out(tmp_path / "job")
    with slurm.cluster(tmp_path / "cluster") as environment:
        programs = str(Path(sys.executable).parent)
        ours = {**environment, **rungs.ON_CPU, "PATH": os.pathsep.join((programs, environment["PATH"]))}
        done = subprocess.run(
            ["sbatch", "--wait", "--nodes", "1", str(SCRIPT)],
            cwd=folder,
            env={**ours, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    printed = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("ddp-*.log"))
    assert done.returncode == 0, (done.stderr, printed)
    found, one = rungs.result([printed], [folder], 0.0), rungs.run("python one.py")
    assert found.losses == {epoch: pytest.approx(loss, rel=0.01) for epoch, loss in one.losses.items()}
    assert found.right == pytest.approx(one.right, abs=0.01)
