"""Programs in which ranks disagree, lag or never come, and what PyTorch tells of each.

Each runs in a process group of its own over gloo, on CPUs, which needs no GPU and fails as NCCL does: late or not at
all. The chapter *Multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from dlperf.workers import Workers

Program = Callable[[int], object]
"""What a rank does; it gets its rank."""


def different_shapes(rank: int) -> object:
    """Averages a gradient that is longer on rank 1."""
    gradient = torch.ones(3 + rank)
    dist.all_reduce(gradient)
    return gradient.tolist()


def different_operations(rank: int) -> object:
    """Reduces on rank 0, and broadcasts on the others."""
    gradient = torch.ones(3)
    if rank == 0:
        dist.all_reduce(gradient)
    else:
        dist.broadcast(gradient, src=0)
    return gradient.tolist()


def one_never_comes(rank: int, steps: int = 3, pause: float = 0.1) -> object:
    """Has rank 1 late in each of some steps, and never come to another."""
    for _ in range(steps):
        time.sleep(pause * rank)
        dist.all_reduce(torch.ones(4))
    if rank == 0:
        dist.all_reduce(torch.ones(5))
    return None


def barrier_first(rank: int) -> object:
    """Asks who is there before the collective that hangs."""
    if rank == 0:
        dist.monitored_barrier(timeout=timedelta(seconds=0.5))
    return None


@dataclass(frozen=True)
class Entry:
    """A collective as one rank's flight recorder has it: its number, what it did to which sizes, and when it began."""

    number: int
    operation: str
    sizes: list[list[int]]
    begun: float


@dataclass(frozen=True)
class Seen:
    """What a rank's program returned or raised, in how many seconds, and its flight recorder's entries."""

    answer: object
    error: str
    seconds: float
    entries: list[Entry]


def run(workers: Workers, program: Program, detail: str = "OFF", timeout: float = 1.0) -> list[Seen]:
    """Returns what each worker saw of a program, with `TORCH_DISTRIBUTED_DEBUG` set to ``detail``.

    A collective gives up after ``timeout`` seconds. For entries the workers need `TORCH_FR_BUFFER_SIZE` in the
    environment before their first collective.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")
        return workers.run(_seen, workers.world_size, store, program, detail, timeout, timeout=60)


def _seen(rank: int, size: int, store: str, program: Program, detail: str, timeout: float) -> Seen:
    dist.set_debug_level(dist.DebugLevel.__members__[detail])
    known = len(entries())
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=size, timeout=timedelta(seconds=timeout)
    )
    answer, error, start = None, "", time.perf_counter()
    try:
        answer = program(rank)
    except RuntimeError as raised:
        error = str(raised)
    seconds = time.perf_counter() - start
    if not error:
        time.sleep(max(0.0, 1.5 * timeout - seconds))  # who leaves early wakes those who wait for it
    seen = Seen(answer, error, seconds, entries()[known:])
    dist.destroy_process_group()
    return seen


def entries() -> list[Entry]:
    """Returns what this process's flight recorder has kept: nothing, unless `TORCH_FR_BUFFER_SIZE` was set.

    A debug server hands the same out over HTTP (`torch.distributed.debug`); NCCL writes it when it gives up.
    """
    from torch._C import _distributed_c10d as c10d

    dump = json.loads(c10d._dump_fr_trace_json())  # type: ignore[attr-defined]
    return [_entry(entry) for entry in dump.get("entries", [])]


def _entry(entry: dict[str, Any]) -> Entry:
    begun = entry["time_created_ns"] / 1e9
    return Entry(entry["collective_seq_id"], entry["profiling_name"], entry["input_sizes"], begun)


def lateness(seen: Sequence[Seen]) -> dict[int, list[float]]:
    """Returns how many seconds after the first each rank came to every collective to which all came."""
    begun = [{entry.number: entry.begun for entry in each.entries} for each in seen]
    common = sorted(set.intersection(*(set(each) for each in begun)))
    firsts = {number: min(each[number] for each in begun) for number in common}
    return {rank: [each[number] - firsts[number] for number in common] for rank, each in enumerate(begun)}


def last_entries(seen: Sequence[Seen]) -> list[Entry]:
    """Returns the last collective that each rank began: who is behind has the lower number."""
    return [max(each.entries, key=lambda entry: entry.number) for each in seen]


def shortened(message: str) -> list[str]:
    """Returns the lines of a message of PyTorch's, without paths, ports and what is the same for all tensors."""
    message = re.sub(r"\[/\S*/(\S+?):\d+\] ", r"\1: ", message)
    message = re.sub(r", TensorDeviceTypes=TensorOptions\(.*?\)\)\)", "", message)
    message = re.sub(r" \[[\d.]+\]:\d+", "", message)
    message = re.sub(r"(\. This is typically caused|\n).*", "", message, flags=re.DOTALL)
    message = re.sub(r"CollectiveFingerPrint\(SequenceNumber=\d+, OpType=", "", message)
    message = re.sub(r"(, but)? (Rank \d+ is running)", r"\n\2", message)
    return re.sub(r"\.?(Collectives differ.*?:)\s+", r"\n\1 ", message).split("\n")
