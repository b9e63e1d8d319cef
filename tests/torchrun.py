"""Runs a module of the tests on two ranks on one machine, as a reader would, by `torchrun`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

COMMAND = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
"""What `torchrun` is in this environment."""
ALONE = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
"""What it tells a rank that has no others; the system chooses the port."""
DEADLINE_S = 1800
"""It only ends a hang."""


def on_two_ranks(module: str, out: Path, *arguments: str) -> Any:
    """Returns what a module has written into ``out``, its first argument, as JSON; fails with what it complained of.

    Each rank computes with one thread, on the CPU.
    """
    variables = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": f"{ROOT}/code:{ROOT}"}
    done = subprocess.run(
        [*COMMAND, "-m", module, str(out), *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text(encoding="ascii"))
