"""Tools that others trust, asked the same question: what they say stands beside what the book's probes say."""

from __future__ import annotations

import shutil
import subprocess

from dlperf.hardware.probe import Unknown


def output(command: list[str], timeout: float = 120) -> str:
    """Returns what a command prints; raises `Unknown` where it is not installed or fails."""
    if shutil.which(command[0]) is None:
        raise Unknown(f"{command[0]} is not installed; on Debian: apt install {command[0]}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise Unknown(f"{' '.join(command)} failed with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout
