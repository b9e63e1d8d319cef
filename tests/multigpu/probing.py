"""What the tests of the probe have the hosts of a network do, and how they read what it prints.

A host imports this module quickly.
"""

from __future__ import annotations

import math
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence

import torch

from dlperf.alpha_beta import Line
from dlperf.multigpu.agreement import Disagreement, check_over_group, checksum
from dlperf.multigpu.all_reduce_times import data_parallel_step, link_bytes, local, train_once
from dlperf.multigpu.probe import parse_size
from dlperf.multigpu.traffic import sent
from dlperf.network import PAYLOAD, address, namespaces
from tests.processes import DEADLINE_S

NEWUTS = 0x04000000
"""The namespace of a machine's name."""

SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
BURST = 2**18
"""More bytes than a link of 1 Gbit/s passes at once, before it limits what follows."""

ROUNDING = 0.98
"""What is left of a number of which three digits are printed, and of the ratio of two."""


def compare_after_a_step(rank: int, size: int) -> list[str]:
    """Returns what a comparison says after a step, after rank 1 alters a parameter, and after a step without DDP."""
    step = data_parallel_step(rank, torch.device("cpu"), batch=1)
    found = [comparison(train_once(step))]
    parameters = list(step.model.parameters())
    if rank == 1:
        with torch.no_grad():
            parameters[0].view(-1)[0] += 1
    found.append(comparison({"parameters": checksum(parameters)}))
    fresh = data_parallel_step(rank, torch.device("cpu"), batch=1)  # one that has learned its image learns no more
    local(fresh)()
    return [*found, comparison({"last": checksum(list(fresh.model.parameters())[-1:])})]


def comparison(report: dict[str, object]) -> str:
    """Returns in what rank 1 differs, or nothing."""
    try:
        check_over_group(report)
    except Disagreement as error:
        return str(error)
    return ""


def torchrun(rank: int, command: Sequence[str]) -> tuple[int, str, str, int]:
    """Runs torchrun on a host, whose name is its address: torchrun looks up the names of machines.

    Returns its exit status, what it has written and complained, and the bytes that have left the host meanwhile.
    """
    namespaces.enter(NEWUTS)
    socket.sethostname(address(rank))
    before = sent()
    given = {name: value for name, value in os.environ.items() if name != "GLOO_SOCKET_IFNAME"}
    given["CUDA_VISIBLE_DEVICES"] = ""  # hosts would share this machine's GPUs
    program = [sys.executable, "-m", "torch.distributed.run", *command]
    done = subprocess.run(program, capture_output=True, text=True, env=given, timeout=4 * DEADLINE_S)
    return done.returncode, done.stdout, done.stderr, sent() - before


def printed_seconds(printed: str) -> dict[int, float]:
    """Returns the seconds of each all-reduce in a printed table, by its bytes, which are whole KiB."""
    rows = re.findall(r"^all-reduce of (.+?)  +(\S+) (\w+) ± .+$", printed, re.MULTILINE)
    return {2 ** round(math.log2(parse_size(size))): float(value) * SECONDS[unit] for size, value, unit in rows}


def printed_line(printed: str) -> Line | None:
    """Returns the line in a printed table; None if that says that there is none."""
    alpha = re.search(r"\(alpha\)  +(\S+) (\w+)$", printed, re.MULTILINE)
    bandwidth = re.search(r"\(1 / beta\)  +(\S+ \w+)/s$", printed, re.MULTILINE)
    if not alpha or not bandwidth:
        assert "no line fits these times" in printed, printed
        return None
    return Line(float(alpha[1]) * SECONDS[alpha[2]], 1 / parse_size(bandwidth[1]))


def too_early(printed: str, rate: float, k: int = 2) -> list[str]:
    """Returns what a printed table of ``k`` ranks says is faster than links of ``rate`` B/s can be.

    These are the all-reduces, and the line at those that it goes through: it goes through two at least, but where
    noise has delayed the short ones more, no law holds it above the link elsewhere.
    """
    seconds = printed_seconds(printed)
    least = {size: (link_bytes(size, k) / PAYLOAD - BURST) / rate for size in seconds}
    found = [f"all-reduce of {size} B" for size, taken in seconds.items() if taken < ROUNDING * least[size]]
    if line := printed_line(printed):
        at = {size: line(link_bytes(size, k)) for size in seconds}
        met = [size for size, taken in seconds.items() if abs(at[size] / taken - 1) < 1 - ROUNDING]
        assert len(met) >= 2, (line, seconds)
        found += [f"line at {size} B" for size in met if at[size] < ROUNDING**2 * least[size]]
    return found
