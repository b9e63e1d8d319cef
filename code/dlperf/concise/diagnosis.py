"""Three faults at which processes stand still or go wrong, and what PyTorch says of each.

Each is run by processes on the CPU over gloo, so it needs no GPU. The chapter *Training on multiple GPUs, concisely*
shows what comes of it.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from dlperf.workers import Workers

PRESENT_S = 60.0
"""How long a process waits for another one that will come."""
LEVEL, RECORDER = "TORCH_DISTRIBUTED_DEBUG", "TORCH_FR_BUFFER_SIZE"
"""The environment variables by which a reader sets what is set here: checks, and how many collectives are noted."""


def unlike_lengths(rank: int) -> list[float]:
    """Sums gradients that are longer on rank 1, as after a branch."""
    gradient = torch.ones(3 + rank)
    dist.all_reduce(gradient)
    return gradient.tolist()


def unlike_calls(rank: int) -> list[float]:
    """Sums on rank 0, and broadcasts on rank 1."""
    gradient = torch.ones(3)
    if rank == 0:
        dist.all_reduce(gradient)
    else:
        dist.broadcast(gradient, src=0)
    return gradient.tolist()


def one_is_missing(rank: int) -> list[float]:
    """Sums once on both ranks, and then on rank 0 alone."""
    gradient = torch.ones(3)
    dist.all_reduce(gradient)
    if rank == 0:
        dist.all_reduce(gradient)
    return gradient.tolist()


FAULTS = (unlike_lengths, unlike_calls, one_is_missing)


@dataclass(frozen=True)
class Seen:
    """What came of a fault on one rank: what it ``answered`` or its ``error``.

    ``collectives`` is how many its flight recorder has; none with ``DETAIL``, which puts a group of its own in between.
    """

    answered: list[float]
    error: str
    collectives: int

    @property
    def said(self) -> str:
        """The error in short, or the answer."""
        return shorten(self.error) or " ".join(f"{value:g}" for value in self.answered)


def run(ranks: Workers, fault: Callable[[int], list[float]], level: str = "OFF", timeout_s: float = 2.0) -> list[Seen]:
    """Returns what each rank saw of a fault, with the checks of `LEVEL`: ``OFF``, ``INFO`` or ``DETAIL``.

    A collective gives up after ``timeout_s``; where nothing is said of it, PyTorch waits for half an hour with gloo.
    """
    with tempfile.TemporaryDirectory() as folder:
        return ranks.run(_see, ranks.world_size, str(Path(folder, "store")), fault, level, timeout_s)


def _see(rank: int, size: int, path: str, fault: Callable[[int], list[float]], level: str, timeout_s: float) -> Seen:
    os.environ[RECORDER] = "1000"  # read at the first collective of the process
    dist.set_debug_level(dist.DebugLevel.__members__[level])
    before = _recorded()
    store = dist.FileStore(path, size)
    store.set_timeout(timedelta(seconds=PRESENT_S))
    answered, error = [], ""
    try:
        meet(store, "here", rank, size)  # so that a process which starts late is not taken for one that is missing
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=timeout_s))
        answered = fault(rank)
    except RuntimeError as raised:
        error = str(raised)
    collectives = _recorded() - before
    meet(store, "seen", rank, size)  # one that leaves would wake those who wait for it
    if dist.is_initialized():
        dist.destroy_process_group()
    return Seen(answered, error, collectives)


def meet(store: dist.Store, where: str, rank: int, size: int) -> None:
    """Waits until all ranks have come here."""
    store.set(f"{where} {rank}", "")
    store.wait([f"{where} {each}" for each in range(size)])


def _recorded() -> int:
    """Returns how many collectives of the default group this process's flight recorder has."""
    from torch._C import _distributed_c10d

    record = json.loads(_distributed_c10d._dump_fr_trace_json())  # type: ignore[attr-defined]
    return sum(entry["process_group"][1] == "default_pg" for entry in record.get("entries", []))


def shorten(message: str) -> str:
    """Returns a message of PyTorch's without paths, addresses, and what is the same for all tensors."""
    message = re.sub(r"^\[/\S+\] ", "", message)
    message = re.sub(r" \[[\d.]+\]:\d+|\. This is typically caused.*", "", message, flags=re.DOTALL)
    message = re.sub(r", TensorDeviceTypes=TensorOptions\(.*?\)\)\)", "", message)
    message = re.sub(r"CollectiveFingerPrint\(SequenceNumber=\d+, OpType=", "", message)
    return re.sub(r"\.Collectives differ in the following aspects:\s+", ". ", message)


def names_other(*seen: Seen) -> bool:
    """Returns whether a message of rank 0 or 1 names the other of the two."""
    return any(re.search(rf"\bRanks? {1 - rank}\b", each.error) for rank, each in enumerate(seen))
