"""Tools that others trust, asked the same question: what they say stands beside what the book's probes say."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from dlperf.hardware.probe import Unknown


def output(command: list[str], timeout: float = 120) -> str:
    """Returns what a command prints; raises `Unknown` where it is not installed or fails."""
    if shutil.which(command[0]) is None:
        raise Unknown(f"{command[0]} is not installed; on Debian: apt install {command[0]}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise Unknown(f"{' '.join(command)} failed with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def mbw(mebibytes: int = 128, runs: int = 5, tests: Sequence[int] = (0, 1)) -> dict[str, list[float]]:
    """Returns the bytes that mbw copied per second, run by run: ``loop`` word by word, ``memcpy`` or ``block``.

    These names say what version 1.2.2 does. It prints MEMCPY over the loop and DUMB over memcpy: its source has the
    two the other way round in its `worker` and its `printout`. And MCBLOCK, our ``block``, copies the same 256 KiB
    again and again, so it reads from a cache. Raises `Unknown` without mbw.
    """
    return parse_mbw(output(["mbw", "-q", "-a", "-n", str(runs), *(f"-t{test}" for test in tests), str(mebibytes)]))


def parse_mbw(text: str) -> dict[str, list[float]]:
    """Returns the rates in what mbw prints, in B/s, under the names that `mbw` explains."""
    names = {"MEMCPY": "loop", "DUMB": "memcpy", "MCBLOCK": "block"}
    rates: dict[str, list[float]] = {name: [] for name in names.values()}
    for method, rate in re.findall(r"Method: (\w+).*?Copy: ([\d.]+) MiB/s", text):
        rates[names[method]].append(float(rate) * 2**20)
    return {name: found for name, found in rates.items() if found}
