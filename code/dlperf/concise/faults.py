"""Kills workers of a training script that `torchrun` started, and reads what it went on to do.

The script is `dlperf.concise.resume`; the chapter *Multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlperf.concise import resume

POLL = 0.002
"""Seconds between two looks at what the workers have printed."""


@dataclass(frozen=True)
class Line:
    """What worker ``rank`` printed in ``attempt``, the how-manieth start of all workers: one JSON object."""

    attempt: int
    rank: int
    what: dict[str, Any]

    @property
    def moment(self) -> float:
        """When it was printed, in seconds since the epoch."""
        return self.what["moment"]


@dataclass(frozen=True)
class Death:
    """A worker that was killed: in which ``attempt``, after which ``step``, and what was ``unfinished`` on disk."""

    attempt: int
    rank: int
    step: int
    moment: float
    unfinished: tuple[str, ...]


@dataclass
class History:
    """All that a training printed, its deaths, and the ``status`` with which `torchrun` ended."""

    lines: list[Line]
    deaths: list[Death] = field(default_factory=list)
    status: int = 0
    errors: str = ""

    def attempts(self) -> int:
        """Returns how often the workers were started."""
        return 1 + max((line.attempt for line in self.lines), default=-1)

    def losses(self, attempt: int, rank: int = 0) -> dict[int, float]:
        """Returns the loss of each step that a worker took in an attempt."""
        return {line.what["step"]: line.what["loss"] for line in self._of(rank) if line.attempt == attempt}

    def repeated(self, rank: int = 0) -> int:
        """Returns how many steps were taken more than once, each time counted."""
        steps = [line.what["step"] for line in self._of(rank)]
        return len(steps) - len(set(steps))

    def weights(self) -> set[str]:
        """Returns the fingerprints of the weights with which the ranks ended: one, where all agree."""
        return {line.what["weights"] for line in self.lines if "weights" in line.what}

    def pause(self, death: Death) -> float:
        """Returns the seconds between a death and the first step of the next attempt."""
        return min(line.moment for line in self._of(0) if line.attempt > death.attempt) - death.moment

    def _of(self, rank: int) -> Iterator[Line]:
        return (line for line in self.lines if line.rank == rank and "step" in line.what)


def same(history: History, unbroken: History) -> bool:
    """Returns whether every step of every rank had the loss of the ``unbroken`` run, bit for bit, and the end too."""
    told = {rank: unbroken.losses(0, rank) for rank in {line.rank for line in unbroken.lines}}
    steps = [line for line in history.lines if "step" in line.what]
    reached = {(line.rank, line.what["step"]) for line in steps}
    return (
        history.status == 0
        and reached == {(rank, step) for rank, losses in told.items() for step in losses}
        and all(line.what["loss"] == told[line.rank][line.what["step"]] for line in steps)
        and history.weights() == unbroken.weights()
        and len(history.weights()) == 1
    )


@dataclass(frozen=True)
class AtStep:
    """The moment in which rank 0 has taken ``step`` in the current attempt."""

    rank: int
    step: int
    delay: float = 0.0

    def has_come(self, history: History, folder: Path) -> bool:
        return self.step in history.losses(history.attempts() - 1)


@dataclass(frozen=True)
class WhileSaving:
    """The moment in which the checkpoint of ``step``, or a later one, is being written."""

    rank: int
    step: int
    delay: float = 0.0

    def has_come(self, history: History, folder: Path) -> bool:
        running = bool(history.losses(history.attempts() - 1))  # what the last attempt left has been removed
        return running and any(name >= f"step-{self.step:08d}" for name in unfinished(folder))


Moment = AtStep | WhileSaving
"""When to kill worker ``rank``: ``delay`` seconds after it ``has_come``."""


def unfinished(folder: Path) -> tuple[str, ...]:
    """Returns the names of the checkpoints that are not complete."""
    return tuple(sorted(path.name for path in folder.glob("*.partial")))


def train(
    folder: Path, moments: Sequence[Moment] = (), *options: str, world_size: int = 2, timeout: float = 300
) -> History:
    """Returns what `resume` did under `torchrun`, in a new ``folder``, with a worker killed at each of the ``moments``.

    They come one after the other; ``options`` go to the script. Raises RuntimeError where it fails before the last
    kill, and TimeoutError after ``timeout`` seconds. No process outlives the call.
    """
    checkpoints, end = folder / "checkpoints", time.monotonic() + timeout
    history, waiting = History([]), list(moments)
    with _launched(folder, world_size, len(waiting), [str(checkpoints), *options]) as torchrun:
        while torchrun.poll() is None:
            if time.monotonic() > end:
                raise TimeoutError(f"{len(history.deaths)} of {len(moments)} kills in {timeout} s: {_errors(folder)}")
            time.sleep(POLL)
            if waiting:
                history.lines = _read(folder)
                restarted = history.attempts() > len(history.deaths)
                if restarted and waiting[0].has_come(history, checkpoints):
                    history.deaths.append(_kill(waiting.pop(0), folder, checkpoints))
        history.lines, history.status, history.errors = _read(folder), torchrun.returncode, _errors(folder)
    if waiting and history.status:
        raise RuntimeError(
            f"training failed before all kills, {len(history.deaths)} of {len(moments)}: {history.errors}"
        )
    return history


def _kill(moment: Moment, folder: Path, checkpoints: Path) -> Death:
    time.sleep(moment.delay)
    now = History(_read(folder))
    attempt = now.attempts() - 1
    started = {(line.attempt, line.rank): line.what["pid"] for line in now.lines if "pid" in line.what}
    os.kill(started[attempt, moment.rank], signal.SIGKILL)
    return Death(attempt, moment.rank, max(now.losses(attempt), default=0), time.time(), unfinished(checkpoints))


def _read(folder: Path) -> list[Line]:
    """Returns what all workers have printed so far, in order of time."""
    lines = []
    for path in folder.glob("logs/*/attempt_*/*/stdout.log"):
        attempt, rank = int(path.parts[-3].split("_")[1]), int(path.parts[-2])
        whole = path.read_text(encoding="utf-8").rpartition("\n")[0]  # the last line may be half written
        lines += [Line(attempt, rank, json.loads(line)) for line in whole.splitlines()]
    return sorted(lines, key=lambda line: line.moment)


def _errors(folder: Path) -> str:
    """Returns the last that each worker and `torchrun` wrote to say what went wrong."""
    logs = [*sorted(folder.glob("logs/*/attempt_*/*/stderr.log")), folder / "torchrun.log"]
    return "\n".join(path.read_text(encoding="utf-8", errors="replace")[-2000:] for path in logs if path.exists())


@contextmanager
def _launched(folder: Path, world_size: int, restarts: int, arguments: Sequence[str]) -> Iterator[Any]:
    """Starts `torchrun`, whose workers write into files of their own; at the end of the block all have ended."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world_size}"]
    command += [f"--max-restarts={restarts}", f"--log-dir={folder / 'logs'}", "--redirects=3", resume.__file__]
    folder.mkdir(parents=True, exist_ok=True)
    told = {**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}  # github.com/pytorch/pytorch/issues/135712
    with (folder / "torchrun.log").open("wb") as log:
        torchrun = subprocess.Popen([*command, *arguments], env=told, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield torchrun
    finally:
        if torchrun.poll() is None:
            torchrun.terminate()  # it ends its workers first
            try:
                torchrun.wait(40)  # it gives them half a minute
            except subprocess.TimeoutExpired:
                torchrun.kill()
                torchrun.wait()
