"""What hosts and workers run brings PyTorch and no more: each of dozens of processes would wait for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

IN_PROCESSES = [
    "aggregation_trials", "collective_trials", "consistency", "embeddings", "encryption",
    "goodput", "hosts", "live_worker", "others", "overlapped", "small_operations", "step",
]  # fmt: skip


@pytest.mark.parametrize("heavy", ["matplotlib", "numba", "sklearn"])
def test_processes_import_nothing_heavy(heavy: str, imported: set[str]) -> None:
    assert "dlperf.servers.goodput" in imported
    assert heavy not in imported


@pytest.fixture(scope="module")
def imported() -> set[str]:
    names = ", ".join(f"dlperf.servers.{each}" for each in IN_PROCESSES)
    program = f"import sys, {names}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_hosts_that_only_serve_need_no_pytorch_to_be_told() -> None:
    program = "import sys, dlperf.servers.hosts; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
