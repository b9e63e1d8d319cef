"""The rungs of the ladder, each run by the command that its reader types, and what it printed and kept.

The scripts lie in `dlperf.multigpu.ladder`. The chapter *Multiple GPUs, concisely* tells their story.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from time import perf_counter

import torch

from dlperf.multigpu.ladder import launched, one, several
from dlperf.network import Network, address

SCRIPTS = [Path(str(module.__file__)) for module in (one, several, launched)]
"""Imported, not only named, so that a page which runs them is executed anew when they change."""

JOB = SCRIPTS[0].with_name("job.sh")
"""The script of the last rung, for ``sbatch``."""

PROGRAMS = {"python": [sys.executable], "torchrun": [sys.executable, "-m", "torch.distributed.run"]}
"""What stands for a command's first word: this Python's own, wherever the shell would look."""


SEVERAL = "python several.py 2"
LAUNCHED = "torchrun --standalone --nproc-per-node 2 launched.py"
ON_HOSTS = (
    "torchrun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint {first}:29400"
    " --local-addr {own} --rdzv-conf is_host={leads} launched.py"
)


class RungError(RuntimeError):
    """A command of the ladder failed, and what it said last."""


@dataclass(frozen=True)
class Rung:
    """What a run has come to: the ``loss`` on the test set, the share ``right``, the ``weights``, its ``seconds``."""

    loss: float
    right: float
    weights: dict[str, torch.Tensor]
    seconds: float

    def difference(self, other: Rung) -> float:
        """Returns the largest difference between weights of two runs, over the largest weight."""
        pairs = [(self.weights[name].double(), other.weights[name].double()) for name in self.weights]
        return max(float((a - b).abs().max()) for a, b in pairs) / max(float(b.abs().max()) for _, b in pairs)


def run(command: str, timeout: float = 300.0, **variables: str) -> Rung:
    """Returns what a command came to, in a folder with the scripts, and with these environment variables besides.

    Raises RungError with what a failed one wrote, and subprocess.TimeoutExpired after ``timeout`` seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        lay_out(Path(folder))
        start = perf_counter()
        said = _call(command, folder, {"MASTER_PORT": str(free_port()), **variables}, timeout)
        return read(Path(folder), said, perf_counter() - start)


def run_on_hosts(net: Network, command: str, timeout: float = 300.0) -> Rung:
    """Returns what a command came to that every host of a network calls, each in a folder of its own.

    In it ``{first}`` stands for the first host's address, ``{own}`` for that of the host, ``{leads}`` for 1 on the
    first host and 0 elsewhere: a host in a namespace has the name of the machine, which leads to no address of its own.
    Hosts compute on the CPU: they would all take the same GPU.
    """
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder, str(rank)) for rank in range(net.hosts)]
        for place in places:
            place.mkdir()
            lay_out(place)
        start = perf_counter()
        said = net.run(call_on_host, command, folder, timeout, timeout=timeout)
        seconds = perf_counter() - start
        (first,) = (rank for rank, place in enumerate(places) if (place / "digits.pt").exists())
        return read(places[first], said[first], seconds)


def call_on_host(rank: int, command: str, folder: str, timeout: float) -> str:
    """Calls a command on a host, in its folder; returns what it printed."""
    filled = command.format(first=address(0), own=address(rank), leads=int(rank == 0))
    return _call(filled, f"{folder}/{rank}", {"CUDA_VISIBLE_DEVICES": ""}, timeout)


def lay_out(folder: Path) -> None:
    """Copies the scripts to a folder, as a reader would."""
    for script in (*SCRIPTS, JOB):
        shutil.copy(script, folder)


def read(folder: Path, said: str, seconds: float) -> Rung:
    """Returns what a run has left in a folder, and what it said in its last line."""
    loss, right = map(float, said.split()[-2:])
    return Rung(loss, right, torch.load(folder / "digits.pt", weights_only=True), seconds)


def diff(old: Path, new: Path) -> str:
    """Returns what changes from script to script, with a line around it; kept beside ``new`` for the page to show."""
    before, after = (script.read_text(encoding="utf-8").splitlines(keepends=True) for script in (old, new))
    return "".join(unified_diff(before, after, old.name, new.name, n=1))


def free_port() -> int:
    """Returns a port at which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def _call(command: str, folder: str, variables: Mapping[str, str], timeout: float) -> str:
    program, *words = shlex.split(command)
    given = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}  # as for a reader
    with subprocess.Popen(
        [*PROGRAMS[program], *words],
        cwd=folder,
        env={**given, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            said, complained = started.communicate(timeout=timeout)
        except BaseException:
            started.terminate()  # not killed: a launcher ends its processes first
            raise
    if started.returncode:
        raise RungError(f"{command!r} ended with exit status {started.returncode}:\n{complained.strip()[-2000:]}")
    return said
