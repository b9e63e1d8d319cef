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


def alive(pids: Iterable[int]) -> list[int]:
    """Returns which of these processes have not ended; one that only waits to be asked for its status has."""
    return [pid for pid in pids if _state(pid) not in ("", "Z")]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def networks() -> dict[str, list[int]]:
    """Returns the processes that live in each network namespace of the machine, by its name."""
    found: dict[str, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        with suppress(OSError):
            found.setdefault(os.readlink(path), []).append(int(path.parts[2]))
    return found


def soon(condition: Callable[[], bool], seconds: float = WITHIN) -> bool:
    """Returns whether a condition holds at some moment within so many seconds."""
    end = monotonic() + seconds
    while not (held := condition()) and monotonic() < end:
        sleep(0.01)
    return held
