"""The rungs of the ladder, each run by the command that its reader types, and what came of it.

The scripts lie in `dlperf.concise.ladder`. The chapter *Multi-GPU training, concisely and at scale* tells their story.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from time import perf_counter

from dlperf.concise import observe
from dlperf.concise.ladder import accumulate, ddp, one, restarted, sharded
from dlperf.network import Network, address

SCRIPTS = {
    Path(str(module.__file__)).stem: Path(str(module.__file__)) for module in (one, ddp, accumulate, sharded, restarted)
}
"""Imported, not only named, so that a page which runs them is executed anew when they change."""
PROGRAMS = {"python": [sys.executable], "torchrun": [sys.executable, "-m", "torch.distributed.run"]}
"""What stands for a command's first word: this Python's own, wherever the shell would look."""
LAUNCHED = "torchrun --standalone --nproc-per-node {processes} {script}"
ON_HOSTS = (
    "torchrun --nnodes {hosts} --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint {first}:29400"
    " --local-addr {own} --rdzv-conf is_host={leads} {script}"
)
_EPOCH = re.compile(r"^epoch \d+: loss (\S+)$", re.M)
_RIGHT = re.compile(r"^right (\S+)$", re.M)


class RungError(RuntimeError):
    """A command of the ladder failed, and what it said last."""


@dataclass(frozen=True)
class Run:
    """What a run has come to: the ``losses`` of its epochs, the share ``right``, its ``seconds``; ``steps`` if seen."""

    losses: tuple[float, ...]
    right: float
    seconds: float
    steps: tuple[observe.Step, ...] = ()


def run(command: str, *, seen: bool = False, timeout: float = 300.0, **variables: str) -> Run:
    """Returns what a command came to, in a folder with the scripts, and with these environment variables besides.

    ``seen``: what its processes did in a step is observed. Raises RungError with what a failed one wrote, and
    subprocess.TimeoutExpired after ``timeout`` seconds.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = lay_out(Path(name))
        start = perf_counter()
        said = call(command, folder, {"MASTER_PORT": str(free_port()), **variables}, seen=seen, timeout=timeout)
        return result([said], [folder], perf_counter() - start)


def run_on_hosts(net: Network, script: str, *, seen: bool = False, timeout: float = 300.0) -> Run:
    """Returns what a script and its options came to when every host of a network starts it, each in its own folder.

    A host in a namespace has the name of the machine, which leads to no address of its own, so the command names it.
    Hosts compute on the CPU: they would all take the same GPU.
    """
    with tempfile.TemporaryDirectory() as name:
        folders = [lay_out(Path(name, str(rank))) for rank in range(net.hosts)]
        start = perf_counter()
        said = net.run(call_on_host, net.hosts, script, name, seen, timeout, timeout=timeout)
        return result(said, folders, perf_counter() - start)


def call_on_host(rank: int, hosts: int, script: str, folder: str, seen: bool, timeout: float) -> str:
    """Calls `ON_HOSTS` on a host, in its folder; returns what it printed."""
    command = ON_HOSTS.format(hosts=hosts, first=address(0), own=address(rank), leads=int(rank == 0), script=script)
    return call(command, Path(folder, str(rank)), {"CUDA_VISIBLE_DEVICES": ""}, seen=seen, timeout=timeout)


def lay_out(folder: Path) -> Path:
    """Copies the scripts to a folder, as a reader would, and returns it."""
    folder.mkdir(exist_ok=True)
    for script in SCRIPTS.values():
        shutil.copy(script, folder)
    return folder


def result(said: Sequence[str], folders: Sequence[Path], seconds: float) -> Run:
    """Returns what a run printed, on the one host of several that did, and what was seen in all folders."""
    (printed,) = (text for text in said if _RIGHT.search(text))
    losses = tuple(float(loss) for loss in _EPOCH.findall(printed))
    steps = sorted((step for folder in folders for step in observe.read(folder)), key=lambda step: step.rank)
    return Run(losses, float(_RIGHT.findall(printed)[-1]), seconds, tuple(steps))


def diff(old: str, new: str) -> str:
    """Returns what changes from one script to another, both by name, with a line around it."""
    before, after = (SCRIPTS[name].read_text(encoding="utf-8").splitlines(keepends=True) for name in (old, new))
    return "".join(unified_diff(before, after, f"{old}.py", f"{new}.py", n=1))


def free_port() -> int:
    """Returns a port at which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def call(command: str, folder: Path, variables: Mapping[str, str], *, seen: bool, timeout: float) -> str:
    """Calls a command in a folder, and returns what it printed."""
    program, *words = shlex.split(command)
    if seen:
        at = next(n for n, word in enumerate(words) if word.endswith(".py"))
        words[at:at] = ["-m", "dlperf.concise.observe"]
        variables = {**variables, observe.FOLDER: str(folder)}
    threads = {"OMP_NUM_THREADS": "1"}  # as torchrun sets it
    with subprocess.Popen(
        [*PROGRAMS[program], *words],
        cwd=folder,
        env={**os.environ, **threads, **variables},
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
