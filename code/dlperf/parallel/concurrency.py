"""Independent work for several devices: each alone, all together, and what keeps the two apart.

Every function takes the engine that it measures. The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Any

import torch

from dlperf.asynchrony.engine import Operation
from dlperf.device import try_all_gpus
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import columns


def two_devices() -> list[str]:
    """Returns two devices for an engine: two GPUs, else a GPU and the CPU, else the CPU twice, for one core each."""
    found = [str(device) for device in try_all_gpus()][:2]
    return found if len(found) == 2 else ["cpu:0", "cpu:1"] if found == ["cpu"] else [*found, "cpu"]


@dataclass(frozen=True)
class Load:
    """So many squares of the matrix ``x``, on the device of which it is; none depends on another."""

    x: Any
    number: int

    def enqueue(self) -> Any:
        """Returns the last of the squares, an array that is yet to be computed."""
        for _ in range(self.number):
            last = self.x @ self.x
        return last


def loads(engine: Any, seconds: float) -> list[Load]:
    """Returns a load for each device of the engine that takes it about so many ``seconds``, the same for its like.

    Matrices have 4096 rows on a GPU and 512 elsewhere.
    """
    numbers: dict[str, int] = {}
    found = []
    for device in engine.devices:
        kind = device.partition(":")[0]
        n = 512 if kind == "cpu" else 4096
        x = engine.array(torch.randn(n, n, generator=torch.Generator().manual_seed(0)), device)
        if kind not in numbers:
            _, ops = run(engine, [Load(x, 10)])
            numbers[kind] = max(1, round(seconds / min(op.end - op.start for op in ops)))
        found.append(Load(x, numbers[kind]))
    return found


Ran = tuple[float, list[Operation]]


def run(engine: Any, todo: Iterable[Load]) -> Ran:
    """Returns the seconds until all of ``todo`` is done, and what ran."""
    start, before = perf_counter(), len(engine.history)
    for each in todo:
        each.enqueue()
    engine.waitall()
    seconds = perf_counter() - start
    ran = islice(engine.history, before, None)
    return seconds, [op for op in ran if op.name != "waitall"]


def busy(ops: Iterable[Operation], device: str) -> float:
    """Returns how many seconds ``device`` spent in these operations."""
    return sum(op.end - op.start for op in ops if op.device == device)


def alone_and_together(engine: Any, todo: Sequence[Load], repeats: int = 15) -> dict[str, Measurement]:
    """Returns the seconds of each load by itself, by its device, and of all ``together``, in turn; and ratios.

    ``ideal``: the longest time alone over the sum of all, which is what independent devices would reach.
    ``stretch``: time at work, together over alone, on the device that works longest; more than 1 where devices
    share what they work with. ``rest``: what part of the time together that device is not at work, ``rest alone`` of
    its time alone. A thread that waits for a core counts as at work.
    """
    places = [each.x.device for each in todo]
    rows = []
    for _ in range(repeats + 1):
        alone = {each.x.device: run(engine, [each]) for each in todo}
        seconds, ops = run(engine, todo)
        working = {device: busy(ops, device) for device in places}
        slow = max(working, key=lambda device: working[device])
        times = {device: alone[device][0] for device in places}
        by_itself = busy(alone[slow][1], slow)
        row = times | {"together": seconds, "ideal": max(times.values()) / sum(times.values())}
        row |= {"stretch": working[slow] / by_itself, "rest": 1 - working[slow] / seconds}
        rows.append(row | {"rest alone": 1 - by_itself / times[slow]})
    units = dict.fromkeys([*places, "together"], "s")
    units |= dict.fromkeys(("ideal", "stretch", "rest", "rest alone"), "1")
    return columns(rows[1:], units, environment())
