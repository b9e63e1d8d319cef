"""What tests ask of other processes: whether they live, in whose network they are, and to be busy without Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

WITHIN = 1.0
"""So many seconds may pass until what should end has ended."""


def busy(rank: int) -> int:
    """Adds numbers in a loop of C that keeps Python's lock: no signal handler and no other thread gets a turn."""
    return sum(range(10**15))


def fails_beside_busy(rank: int) -> None:
    """Fails in rank 1 as soon as the others are busy."""
    if rank == 1:
        sleep(0.3)
        raise ValueError("no such gradient")
    busy(rank)


def alive(pids: Iterable[int]) -> list[int]:
    """Returns which of these processes have not ended; one that only waits to be asked for its status has."""
    return [pid for pid in pids if _state(pid) not in ("", "Z")]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def network_of(pid: int) -> str:
    """Returns the name of the network namespace in which a process lives; an empty string when it has ended."""
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/net")
    return ""


def networks() -> set[str]:
    """Returns the names of all network namespaces in which a process of this machine lives."""
    return {network_of(int(path.name)) for path in Path("/proc").glob("[0-9]*")} - {""}


def soon(condition: Callable[[], bool], seconds: float = WITHIN) -> bool:
    """Returns whether a condition holds at some moment within so many seconds."""
    end = monotonic() + seconds
    while not (held := condition()) and monotonic() < end:
        sleep(0.01)
    return held
