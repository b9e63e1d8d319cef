"""Helpers for tests of processes: deadlines, functions that are busy and say so, and which processes are alive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

DEADLINE_S = 120.0
"""The seconds after which a test gives up waiting for an event. It only ends a hang: no test takes so long."""


def busy(rank: int, folder: str = "") -> int:
    """Adds numbers in a loop of C that holds Python's lock: no signal handler and no other thread gets a turn.

    Writes the file ``busy-<rank>`` into ``folder``, if there is one, right before the loop begins.
    """
    if folder:
        Path(folder, f"busy-{rank}").touch()
    return sum(range(10**15))


def fail_beside_busy(rank: int, folder: str) -> None:
    """Raises ValueError in rank 1 when rank 0 is in its busy loop."""
    if rank == 1:
        assert wait_until_busy([0], folder)
        raise ValueError("no such gradient")
    busy(rank, folder)


def wait_until_busy(ranks: Iterable[int], folder: str | Path) -> bool:
    """Returns whether `busy` has begun in all of these ranks before the deadline."""
    return wait_until(lambda: all(Path(folder, f"busy-{rank}").exists() for rank in ranks))


def wait_until(condition: Callable[[], bool], seconds: float = DEADLINE_S) -> bool:
    """Returns whether ``condition`` was true at some moment before the deadline."""
    end = monotonic() + seconds
    while not (true := condition()) and monotonic() < end:
        sleep(0.01)
    return true


def alive(pids: Iterable[int]) -> list[int]:
    """Returns which of these processes have not ended; a zombie has."""
    return [pid for pid in pids if _state(pid) not in ("", "Z")]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def network_of(pid: int) -> str:
    """Returns the name of the network namespace of a process; an empty string when it has ended."""
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/net")
    return ""


def networks() -> set[str]:
    """Returns the names of all network namespaces in which a process of this machine lives."""
    return {network_of(int(path.name)) for path in Path("/proc").glob("[0-9]*")} - {""}
