"""A cluster on the hosts of a network: what each host runs, of which most need no PyTorch.

The chapter *Parameter servers* puts servers on the first hosts, and workers on those behind them.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from dlperf.forked import end_with_parent
from dlperf.network import GIGABIT, PAYLOAD

if TYPE_CHECKING:
    from dlperf.kvstore import Config

BETA = 1 / (GIGABIT * PAYLOAD)
"""The seconds of a byte on a link of 1 Gbit/s, headers paid for."""

_processes: list[BaseProcess] = []
"""On a host: what runs there beside the host's own process, and ends with the network."""


def start(rank: int, told: bytes) -> None:
    """Starts a host's server, and the scheduler beside the first, if it is to have one; ``told`` is a `Config`."""
    if rank < len(json.loads(told)["servers"]):
        _fork(_serve, told, rank)
    if rank == 0:
        _fork(_schedule, told)


def _fork(program: Callable[..., None], *args: Any) -> None:
    """Runs a program in a process that is forked: a host starts several, and each import takes its time."""
    from dlperf.kvstore import command, server  # noqa: F401 (before it is forked, and then never again)

    process = multiprocessing.get_context("fork").Process(target=program, args=args, daemon=True)
    process.start()
    _processes.append(process)


def _serve(told: bytes, rank: int) -> None:
    from dlperf.kvstore import command

    command.serve(_begun(told), rank)


def _schedule(told: bytes) -> None:
    from dlperf.kvstore import scheduler

    scheduler.run(_begun(told))


def _begun(told: bytes) -> Config:
    """Returns the configuration of a process that will end with its host, whose pipe it has inherited."""
    import msgspec

    from dlperf.kvstore import Config

    end_with_parent(os.getppid())
    return msgspec.json.decode(told, type=Config)


def computed(rank: int) -> float:
    """Returns the seconds that all processes of a host have had of processors so far."""
    pids = [os.getpid(), *(process.pid for process in _processes if process.is_alive())]
    return sum(time.clock_gettime(~pid << 3 | 2) for pid in pids if pid)  # clock_getcpuclockid(3), which Python lacks


def stop(rank: int) -> None:
    """Ends what runs on a host beside its own process."""
    while _processes:
        process = _processes.pop()
        process.kill()
        process.join()


def as_workers(rank: int, first: int, call: bytes) -> Any:
    """Returns what a function that was pickled returns of its worker, on the hosts from ``first`` on.

    Other hosts return None, and do not import what it needs: PyTorch takes a core seconds.
    """
    return pickle.loads(call)(rank - first) if rank >= first else None
