"""`late_rank`, started as a reader would start it, and what it measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dlperf.slow import late_rank

COMMAND = f"torchrun --standalone --nproc-per-node 2 -m {late_rank.__name__}"
"""What a reader types."""
TIMEOUT_S = 240.0


@dataclass(frozen=True)
class Found:
    """What the program printed, and the samples behind it.

    ``ranks`` has for each rank the seconds of steps ``alone``, of its ``waits`` for the others, and of a step that
    ``sends``; ``sent`` is the bytes given to all-reduces over those of the gradients.
    """

    printed: str
    ranks: list[dict[str, list[float]]]
    sent: float

    def __str__(self) -> str:
        return self.printed


def run() -> Found:
    """Runs `COMMAND` on the CPU. Raises RuntimeError with what it complained of if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        done = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", *COMMAND.split()[1:]],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", late_rank.OUT: str(out)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        if done.returncode:
            raise RuntimeError(f"{COMMAND!r} ended with exit status {done.returncode}:\n{done.stderr.strip()[-2000:]}")
        found = json.loads(out.read_text(encoding="ascii"))
    return Found(done.stdout.strip(), found["ranks"], found["sent"])
