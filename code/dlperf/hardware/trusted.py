"""Tools that others trust, asked the same question: what they say stands beside what the book's probes say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

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


def counted(event: str, work: Callable[[], object], seconds: float = 0.5) -> float:
    """Returns how often the processor counted an ``event``, such as a cache miss, per call of ``work``.

    perf watches this process for so many ``seconds`` of calls. Raises `Unknown` without perf, and where the processor
    or the system lets nobody count, as in most virtual machines.
    """
    command = ["perf", "stat", "-x,", "--log-fd", "1", "-e", event, "-p", str(os.getpid()), "sleep", str(seconds)]
    calls = 0
    with ThreadPoolExecutor(1) as helper:
        told = helper.submit(output, command)
        while not told.done():
            work()
            calls += 1
    return parse_perf(told.result(), event) / calls


def parse_perf(text: str, event: str) -> float:
    """Returns the count of an event in what ``perf stat -x,`` prints; raises `Unknown` if nothing was counted."""
    for line in text.splitlines():
        count, *rest = line.split(",")
        if any(field.startswith(event) for field in rest) and count.replace(".", "").isdigit():
            return float(count)
    raise Unknown(f"this processor does not count {event} for us, as in most virtual machines: {text.strip()[:100]}")
