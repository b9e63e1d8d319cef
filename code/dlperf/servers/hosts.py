"""A cluster on the hosts of a network: what each host runs, of which most need no PyTorch.

The chapter *Parameter servers* puts servers on the first hosts, and workers on those behind them.
"""

from __future__ import annotations

import json
import multiprocessing
import pickle
import tempfile
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from dlperf.network import GIGABIT, PAYLOAD

BETA = 1 / (GIGABIT * PAYLOAD)
"""The seconds of a byte on a link of 1 Gbit/s, headers paid for."""

_processes: list[BaseProcess] = []
"""On a host: what runs there beside the host's own process, and ends with the network."""


def start(rank: int, told: bytes) -> None:
    """Starts a host's server, and the scheduler beside the first, if it is to have one; ``told`` is a `Config`."""
    file = Path(tempfile.mkdtemp(prefix="kvstore-")) / "cluster.json"
    file.write_bytes(told)
    if rank < len(json.loads(told)["servers"]):
        _run("serve", "--server", str(rank), "--config", str(file))
    if rank == 0:
        _run("schedule", "--config", str(file))


def _run(*words: str) -> None:
    """Runs ``python -m dlperf.kvstore`` with these words, in a process that is forked: a host starts several."""
    from dlperf.kvstore import command, server  # noqa: F401 (before it is forked, and then never again)

    process = multiprocessing.get_context("fork").Process(target=command.main, args=(words,), daemon=True)
    process.start()
    _processes.append(process)


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
