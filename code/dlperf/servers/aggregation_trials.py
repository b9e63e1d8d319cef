"""The three places to add up, clocked: hosts of a network for devices, and one more for the CPU.

The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import torch
import torch.distributed as dist

from dlperf import network
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.multigpu.group import first
from dlperf.multigpu.reduce import AllReduce, sharded, through_one
from dlperf.servers import links
from dlperf.servers.aggregation import PHASES, SHAPES, Shape, on_cpu, predictions
from dlperf.servers.loads import Links, Phase
from dlperf.turns import new_pairing_id

WAYS: dict[Shape, AllReduce] = {"one device": through_one, "CPU": on_cpu, "sharded": sharded}


@dataclass(frozen=True)
class Trial:
    """What ``size`` bytes took to be added up over so many ``devices``, by shape, and what formulas said."""

    devices: int
    size: int
    measured: dict[Shape, Measurement]
    predicted: dict[Shape, float]
    counts: dict[Shape, Phase]
    """What each host's link carried, in tensors; the CPU is the last."""

    @property
    def off(self) -> float:
        """By which part the prediction is off that is off most."""
        return max(abs((taken / self.predicted[shape]).median - 1) for shape, taken in self.measured.items())

    @property
    def links(self) -> dict[str, Links]:
        """The pictures of the shapes."""
        names = tuple(map(str, range(self.devices)))
        machines = {"one device": names, "CPU": (*names, "CPU"), "sharded": names}
        return {
            shape: Links(machines[shape], tuple(phases(self.devices)), self.counts[shape][: len(machines[shape])])
            for shape, phases in PHASES.items()
        }


def clocked(rank: int, size: int, length: int, repeats: int) -> dict[Shape, list[tuple[float, float]]]:
    """Returns when every shape began and ended on this host, by the clock of the machine; shapes take turns.

    The last of ``size`` hosts is the CPU. Raises ArithmeticError where a sum is wrong.
    """
    network.process_group(rank, size)
    devices = size - 1
    group, is_device = first(devices), rank < devices
    found: dict[Shape, list[tuple[float, float]]] = {}
    for turn in range(repeats + 1):
        for shape in SHAPES:
            takes_part = is_device or shape == "CPU"
            tensor = torch.full((length // 4,), float(rank + 1))
            dist.barrier()
            begin = perf_counter()
            if takes_part:
                WAYS[shape](tensor, None if shape == "CPU" else group)
            end = perf_counter()
            if takes_part and not (tensor == devices * (devices + 1) / 2).all():
                raise ArithmeticError(f"{shape}: ranks 1 to {devices} add up to {tensor.unique().tolist()}")
            if turn and is_device:  # the first warms up
                found.setdefault(shape, []).append((begin, end))
    return found


def once(rank: int, size: int, length: int, shape: Shape) -> None:
    """Adds up by one shape, in the process group that `clocked` has made."""
    if rank < size - 1 or shape == "CPU":
        WAYS[shape](torch.zeros(length // 4), None if shape == "CPU" else first(size - 1))


def measured(devices: int = 4, size: int = 8 * 2**20, rate: float = network.GIGABIT, repeats: int = 7) -> Trial:
    """Returns what each shape took, from the first device's start until the last had the sum, and what links ask for.

    Links are full-duplex, of ``rate`` B/s. Raises `dlperf.network.Unavailable` where there can be no network.
    """
    with network.Network(devices + 1, rate) as net:
        found = net.run(clocked, devices + 1, size, repeats, timeout=300)
        counts = {
            shape: links.counted(net, partial(net.run, once, devices + 1, size, shape, timeout=300), size)[1]
            for shape in SHAPES
        }
    here, turns = environment("cpu"), new_pairing_id()
    by_shape = {
        shape: Measurement(
            _passed([each[shape] for each in found if each]), "s", f"{shape}, {size} bytes", 1, here, turns
        )
        for shape in SHAPES
    }
    return Trial(devices, size, by_shape, dict(predictions(devices, size, rate * network.PAYLOAD)), counts)


def _passed(spans: Sequence[Sequence[tuple[float, float]]]) -> tuple[float, ...]:
    """Returns the seconds of each turn, of which every device has its own beginning and end."""
    turns = zip(*spans, strict=True)
    return tuple(max(end for _, end in turn) - min(begin for begin, _ in turn) for turn in turns)
