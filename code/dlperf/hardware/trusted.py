"""Tools that others trust, asked the same question: what they say stands beside what the book's probes say."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from dlperf.hardware.probe import Unknown


def output(command: list[str], timeout: float = 120) -> str:
    """Returns what a command prints; raises `Unknown` where it is not installed or fails."""
    if shutil.which(command[0]) is None:
        raise Unknown(f"{command[0]} is not installed; on Debian: apt install {command[0]}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise Unknown(f"{' '.join(command)} failed with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def fio(path: Path, block: int, depth: int = 1, *, in_order: bool = False, seconds: float = 0.3) -> float:
    """Returns how many reads of so many bytes a second `fio` does of a file, past the page cache.

    It does what `dlperf.hardware.storage.rate` does: ``depth`` threads, each with one ``pread`` under way.
    """
    what = {"filename": path, "rw": "read" if in_order else "randread", "bs": block, "numjobs": depth}
    fixed = {"name": "trusted", "direct": 1, "ioengine": "psync", "size": path.stat().st_size, "allow_file_create": 0}
    options = [f"--{name}={value}" for name, value in (fixed | what).items()]
    options += ["--thread", "--norandommap", "--group_reporting", "--time_based", f"--runtime={seconds * 1e3:.0f}ms"]
    return fio_reads(output(["fio", *options, "--output-format=json"]))


def fio_reads(text: str) -> float:
    """Returns the reads per second in the JSON that `fio` printed, whatever it printed before."""
    (job,) = json.loads(text[text.index("{") :])["jobs"]
    return job["read"]["iops"]
