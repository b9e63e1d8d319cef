"""Functions for launched processes, in a module that they import quickly, and how a test follows and kills them.

A process that reaches an event writes the file ``<event>-<rank>``, which holds its process number.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch
import torch.distributed as dist

from dlperf.multigpu.group import device_of
from dlperf.multigpu.launching import launch
from dlperf.workers import WorkerError
from tests.conftest import ROOT
from tests.processes import DEADLINE_S, alive, busy, wait_until

EVENTS = ("unpickled", "rendezvous", "joined", "reduced-0", "reduced-9", "stuck")
"""What a process of `reduce_until_stuck` reaches, in order: its call, the process group, all-reduces, a barrier."""


class Act:
    """Calls a function where it is unpickled: in a launched process, before that joins its group."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act = act

    def __reduce__(self) -> tuple[Callable[[], object], tuple[()]]:
        return self.act, ()


def note(folder: Path, event: str, rank: int) -> None:
    """Writes that a process has reached an event."""
    partial_file = folder / f"{event}-{rank}.part"
    partial_file.write_text(str(os.getpid()))
    partial_file.rename(folder / f"{event}-{rank}")


def pid_at(folder: Path, event: str, rank: int) -> int:
    """Returns the number of a process, as soon as it has reached an event."""
    file = folder / f"{event}-{rank}"
    assert wait_until(file.exists), f"rank {rank} did not reach {event!r} in {DEADLINE_S} s"
    return int(file.read_text())


def reach(folder: Path, event: str, rank: int, hold: Sequence[tuple[str, int]]) -> None:
    """Writes that a process has reached an event; does not come back if it is one of those to ``hold`` at."""
    note(folder, event, rank)
    if (event, rank) in hold:
        Event().wait()


def follow(folder: Path, hold: Sequence[tuple[str, int]]) -> None:
    """Makes the process write that its call has been read, and that it begins to join the process group."""
    rank, original = int(os.environ["RANK"]), dist.init_process_group

    def joining(*args: Any, **options: Any) -> None:
        reach(folder, "rendezvous", rank, hold)
        original(*args, **options)

    dist.init_process_group = joining
    reach(folder, "unpickled", rank, hold)


def reduce_until_stuck(rank: int, size: int, folder: Path, hold: Sequence[tuple[str, int]], _: object) -> None:
    """Reduces ten times; then all enter a barrier but the last, which is busy without Python."""
    reach(folder, "joined", rank, hold)
    x = torch.ones(1000, device=device_of(rank, size))
    for step in range(10):
        dist.all_reduce(x)
        x.sum().item()
        reach(folder, f"reduced-{step}", rank, hold)
    reach(folder, "stuck", rank, hold)
    if rank == size - 1:
        busy(rank)
    dist.barrier()


def launch_and_kill(
    folder: Path, event: str, rank: int, size: int, hold: Sequence[tuple[str, int]] = ()
) -> WorkerError:
    """Kills a launched process when it has reached an event; returns what the launch raises, and nothing is left."""
    folder.mkdir()

    def kill() -> None:
        os.kill(pid_at(folder, event, rank), signal.SIGKILL)

    with ThreadPoolExecutor(1) as pool:
        killer = pool.submit(kill)
        with pytest.raises(WorkerError) as caught:
            launch(reduce_until_stuck, size, folder, hold, Act(partial(follow, folder, hold)), timeout=2 * DEADLINE_S)
        killer.result()
    notes = [file for file in folder.iterdir() if file.suffix != ".part"]  # a killed process leaves half of one
    left = alive([*(int(file.read_text()) for file in notes), *(p.pid or 0 for p in active_children())])
    assert not left, f"still there: {left}"
    return caught.value


def describe(rank: int, size: int, word: str) -> dict[str, Any]:
    """Returns what a launched process sees; also writes lines, and sums over the process group."""
    for line in range(3):
        print("line", line, "of", rank)
    print("trouble", rank, file=sys.stderr)
    x = torch.full((3,), float(rank + 1), device=device_of(rank, size))
    dist.all_reduce(x)
    return {
        "word": word,
        "ranks": (rank, size, dist.get_rank(), dist.get_world_size()),
        "variables": [os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")],
        "cores": os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(),
        "threads": (torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]),
        "sum": x.tolist(),
        "large": bytes(10_000_000),  # more than a pipe holds
    }


def fail(rank: int, size: int) -> None:
    """Raises in rank 1, for which the others wait."""
    print("line of", rank)
    if rank == 1:
        raise ValueError("no such gradient")
    dist.barrier()


def leave(rank: int, size: int) -> None:
    sys.exit(0)


def return_lambda(rank: int, size: int) -> object:
    return lambda: rank


def hang(rank: int, size: int) -> None:
    Event().wait()


def add(rank: int, size: int) -> int:
    return rank + size


def start_a_child_and_be_busy(rank: int, size: int, folder: Path) -> None:
    """Starts a process, notes both, and is busy without Python."""
    child = subprocess.Popen(["sleep", "1000"])
    (folder / f"child-{rank}").write_text(str(child.pid))
    note(folder, "busy", rank)
    busy(rank)


def environ(**more: str) -> dict[str, str]:
    """Returns the environment in which a script finds `dlperf` and `tests`."""
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'code'}{os.pathsep}{ROOT}", **more}
