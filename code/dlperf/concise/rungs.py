"""The rungs of the ladder, each run by the command that its reader types, and what came of it.

The scripts lie in `dlperf.concise.ladder`. The chapter *Training on multiple GPUs, concisely* tells their story.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from time import perf_counter, sleep

from dlperf.concise import observe
from dlperf.concise.ladder import accumulate, ddp, one, restarted, sharded
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.multigpu.group import Crew
from dlperf.network import address

SCRIPTS = {
    Path(str(module.__file__)).stem: Path(str(module.__file__)) for module in (one, ddp, accumulate, sharded, restarted)
}
"""Imported, not only named, so that a page which runs them is executed anew when they change."""
PROGRAMS = {"python": [sys.executable], "torchrun": [sys.executable, "-m", "torch.distributed.run"]}
"""What stands for a command's first word: this Python's own, wherever the shell would look."""
LAUNCHED = "torchrun --standalone --nproc-per-node {processes} {script}"
PATIENCE = "read_timeout=300,keep_alive_max_attempt=60"
"""A launcher counts as dead after 60 silent intervals of five seconds, not after three: on a busy machine it is only
late, and the others would end or start again while its processes train."""
ON_HOSTS = (
    "torchrun --nnodes {hosts} --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint {first}:29400"
    " --local-addr {own} --rdzv-conf is_host={leads}," + PATIENCE + " {script}"
)
ON_CPU = {"CUDA_VISIBLE_DEVICES": ""}
"""Every rung computes on the CPU, so that they compare: hosts on one machine would all take the same GPU."""
TIMEOUT_S = 300.0
TRIES = 5
POLL_S = 0.02
"""Seconds between two looks for the checkpoint that a kill waits for."""
_EPOCH = re.compile(r"^epoch (\d+): loss (\S+)$", re.M)
_RESUMED = re.compile(r"^goes on after step (\d+)$", re.M)
_RIGHT = re.compile(r"^right (\S+)$", re.M)


class RungError(RuntimeError):
    """A command of the ladder failed, and what it said last."""


@dataclass(frozen=True)
class Run:
    """What a run came to: the ``losses`` of its epochs, the share ``right``, its ``seconds``; ``traces`` if seen.

    ``resumed`` has the step of each checkpoint that it went on from: none, unless a process died.
    """

    losses: dict[int, float]
    right: float
    seconds: float
    traces: tuple[observe.Trace, ...] = ()
    resumed: tuple[int, ...] = ()

    @property
    def step(self) -> float:
        """The median seconds of a step of the first process."""
        return self.traces[0].step

    @property
    def measured(self) -> Measurement:
        """The seconds of steps of the first process."""
        return Measurement(tuple(self.traces[0].seconds), environment=environment("cpu"))


def run(command: str, *, seen: bool = False, change: Mapping[str, str] | None = None) -> Run:
    """Returns what a command came to, in a folder with the scripts.

    ``seen``: what its processes did is observed. ``change`` replaces text in its script. Raises RungError with what a
    failed command wrote, and subprocess.TimeoutExpired after `TIMEOUT_S`.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = lay_out(Path(name), change)
        start = perf_counter()
        with started(command, folder, ON_CPU, seen=seen) as process:
            said = finish(command, process)
        return result([said], [folder], perf_counter() - start)


def run_on_hosts(crew: Crew, script: str, *, seen: bool = False) -> Run:
    """Returns what a script and its options came to when every host of a crew starts it, each in its own folder.

    `one.py` knows nothing of others: each host has a run of its own, and the first one's is returned.

    A host in a namespace has the name of the machine, which leads to no address of its own, so the command names it.
    Where a crew's devices are no hosts, one machine has
    all processes.
    """
    if crew.kind != "host":
        return run(LAUNCHED.format(processes=len(crew.run(rank_of)), script=script), seen=seen)
    with tempfile.TemporaryDirectory() as name:
        start = perf_counter()
        said = crew.run(call_on_host, script, name, seen)
        folders = [Path(name, str(rank)) for rank in range(len(said))]
        return result(said, folders, perf_counter() - start)


def rank_of(rank: int, hosts: int) -> int:
    """Returns the rank of a process of a crew."""
    return rank


def call_on_host(rank: int, hosts: int, script: str, name: str, seen: bool) -> str:
    """Calls `ON_HOSTS` on a host, in a folder of its own; returns what it printed."""
    launch = "python {script}" if script.startswith("one.py") else ON_HOSTS
    command = launch.format(hosts=hosts, first=address(0), own=address(rank), leads=int(rank == 0), script=script)
    variables = {**ON_CPU, observe.ON_HOST: "1"}
    with started(command, lay_out(Path(name, str(rank))), variables, seen=seen) as process:
        return finish(command, process)


def run_killed(command: str, checkpoint: str) -> Run:
    """Returns what a command came to one of whose processes is killed; its ``resumed`` tells from where it went on.

    SIGKILL comes as soon as a folder of this name is whole. On a busy machine the processes may have ended by then, so
    a few runs are begun. Raises RungError where all end before.
    """
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory() as name, suppress(TooLate):
            folder = lay_out(Path(name))
            variables = {**ON_CPU, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
            start = perf_counter()
            with started(command, folder, variables) as process:
                kill_one(process, folder / "run" / checkpoint, command)
                said = finish(command, process)
            return result([said], [folder], perf_counter() - start)
    raise RungError(f"{command!r} has ended {TRIES} times before it had saved {checkpoint} and could be killed")


class TooLate(Exception):
    """A command has ended before one of its processes could be killed."""


def kill_one(launcher: subprocess.Popen[str], checkpoint: Path, command: str) -> None:
    """Kills one of a launcher's processes when a checkpoint is there. Raises `TooLate` where none is left to kill."""
    while not checkpoint.exists():
        if launcher.poll() is not None:
            finish(command, launcher)  # raises if it failed
            raise TooLate
        sleep(POLL_S)
    try:
        os.kill(max(workers(launcher.pid)), signal.SIGKILL)
    except (ValueError, OSError):  # there is no worker, or no launcher any more
        raise TooLate from None


def workers(launcher: int) -> list[int]:
    """Returns the processes that a launcher has started and that run."""
    listed = Path(f"/proc/{launcher}/task/{launcher}/children").read_text(encoding="ascii")
    return [int(number) for number in listed.split()]


def lay_out(folder: Path, change: Mapping[str, str] | None = None) -> Path:
    """Copies the scripts to a folder, as a reader would, and returns it. Raises ValueError where a change fits none."""
    folder.mkdir(exist_ok=True)
    for script in SCRIPTS.values():
        shutil.copy(script, folder)
    for old, new in (change or {}).items():
        found = [path for path in folder.glob("*.py") if old in path.read_text(encoding="utf-8")]
        if not found:
            raise ValueError(f"no script has {old!r}")
        for path in found:
            path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return folder


def result(said: Sequence[str], folders: Sequence[Path], seconds: float) -> Run:
    """Returns what a run printed, on the first host that did, and what was seen in all folders.

    Raises RungError where no host has printed what a script of the ladder prints last.
    """
    printed = next((text for text in said if _RIGHT.search(text)), None)
    if printed is None:
        raise RungError(f"a script of the ladder prints 'right' and a share at its end, this one printed {said!r}")
    losses = {int(epoch): float(loss) for epoch, loss in _EPOCH.findall(printed)}
    traces = sorted((trace for folder in folders for trace in observe.read(folder)), key=lambda trace: trace.rank)
    resumed = tuple(map(int, _RESUMED.findall(printed)))
    return Run(losses, float(_RIGHT.findall(printed)[-1]), seconds, tuple(traces), resumed)


def diff(old: str, new: str) -> str:
    """Returns what changes from one script to another, both by name, with a line around it."""
    before, after = (SCRIPTS[name].read_text(encoding="utf-8").splitlines(keepends=True) for name in (old, new))
    return "".join(unified_diff(before, after, f"{old}.py", f"{new}.py", n=1))


def free_port() -> int:
    """Returns a port at which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(
    command: str, folder: Path, variables: Mapping[str, str], *, seen: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Starts a command in a folder; with the block it ends, and a launcher's processes with it."""
    program, *words = shlex.split(command)
    if seen:
        at = next(n for n, word in enumerate(words) if word.endswith(".py"))
        words[at:at] = ["-m", "dlperf.concise.observe"]
        variables = {**variables, observe.FOLDER: str(folder)}
    threads = {"OMP_NUM_THREADS": "1", "PET_RDZV_CONF": PATIENCE}  # as torchrun sets it; what it adds to its options
    with subprocess.Popen(
        [*PROGRAMS[program], *words],
        cwd=folder,
        env={**os.environ, **threads, "MASTER_PORT": str(free_port()), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()  # not killed: a launcher ends its processes first


def finish(command: str, process: subprocess.Popen[str]) -> str:
    """Returns what a command printed, when it has ended. Raises RungError if it failed."""
    said, complained = process.communicate(timeout=TIMEOUT_S)
    if process.returncode:
        raise RungError(f"{command!r} ended with exit status {process.returncode}:\n{_cause(complained)}")
    return said


def _cause(complained: str) -> str:
    """Returns the end of what was written; after a launcher's summary, of what its processes wrote of themselves."""
    own = [line for line in complained.splitlines() if line.startswith("[rank")]
    return ("\n".join(own) or complained.strip())[-2000:]
