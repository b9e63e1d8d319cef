"""The script for Slurm that the page prints, as it is, on a cluster of one node."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlperf.concise import rungs
from tests.concise import slurm
from tests.slow.concise.test_batch_file import trained_by_a_job


def test_a_job_of_two_processes_trains_as_one_process_does(tmp_path: Path) -> None:
    if missing := slurm.missing():
        pytest.fail(f"not installed: {', '.join(missing)}; on Debian: apt install slurm-wlm munge")
    found, one = trained_by_a_job(tmp_path), rungs.run("python one.py")
    assert found.losses == {epoch: pytest.approx(loss, rel=0.01) for epoch, loss in one.losses.items()}
    assert found.right == pytest.approx(one.right, abs=0.01)
