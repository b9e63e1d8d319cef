"""Predict the time of gradient aggregation in a machine: on one device, on the CPU, or sharded over the devices.

Devices hang on a switch by a link each, and so does the CPU. First all that is to be added up comes together; when it
has been added up, it goes back. d2l derives 60, 80 and 15 ms for 160 MB, 4 GPUs and 16 GB/s: these are such links,
full-duplex, with both phases one after the other. Source: Zhang et al., Dive into Deep Learning, section 13.7. The
chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf.multigpu.reduce import send_and_receive
from dlperf.servers import loads
from dlperf.servers.loads import Phase

Shape = Literal["one device", "CPU", "sharded"]
SHAPES: tuple[Shape, ...] = get_args(Shape)

PHASES: dict[Shape, Callable[[int], list[Phase]]] = {
    "one device": loads.through_one,
    "CPU": loads.on_cpu,
    "sharded": loads.spread,
}
"""What each link carries in each phase, in tensors, of so many devices."""


def phases(shape: Shape, devices: int) -> list[Phase]:
    """Returns what the links carry. Raises ValueError if ``shape`` is unknown, or ``devices`` below 1."""
    if shape not in PHASES:
        raise ValueError(f"a shape is one of {', '.join(SHAPES)}, got {shape!r}")
    if devices < 1:
        raise ValueError(f"there is at least one device, got {devices}")
    return PHASES[shape](devices)


def seconds(shape: Shape, devices: int, size: float, rate: float) -> float:
    """Returns the seconds until all devices have the sum, by links of ``rate`` B/s each way at once (full-duplex).

    Only the fullest link counts: latencies, adding up and the switch itself are free.
    """
    return loads.fullest(phases(shape, devices)) * size / rate


def seconds_half_duplex(shape: Shape, devices: int, size: float, rate: float) -> float:
    """Returns the same where a link carries ``rate`` B/s one way at a time: what is sharded then takes twice as long.

    The other shapes have but one direction in each phase, so nothing changes for them.
    """
    return loads.fullest_half_duplex(phases(shape, devices)) * size / rate


def ring_seconds(devices: int, size: float, links: int, rate: float) -> float:
    """Returns the seconds of an all-reduce around a ring, whose neighbours are joined by so many parallel ``links``.

    ``rate`` is in B/s, of one link in one direction: a data sheet may say Gbit/s, both directions together, or all
    links of a device; see `per_direction`. A ring each way, with half of the bytes, would take half as long.
    """
    from dlperf.alpha_beta import Line  # here: hosts, which only add up, need not wait for what these import
    from dlperf.multigpu import reduce_costs

    return reduce_costs.seconds("ring", devices, size, Line(0.0, 1 / (links * rate)))


def per_direction(total: float, links: int) -> float:
    """Returns the B/s of one link in one direction, from those of all links of a device, both directions together."""
    return total / links / 2


def on_cpu(tensor: Tensor, group: Any = None) -> None:
    """Adds up a tensor over all ranks but the last, which only adds up."""
    rank, last = dist.get_rank(group), dist.get_world_size(group) - 1
    if rank == last:
        theirs = [torch.empty_like(tensor) for _ in range(last)]
        here = [(dist.irecv, t, r) for r, t in enumerate(theirs)]
        send_and_receive(here, group)
        tensor.zero_()
        for t in theirs:
            tensor += t
        send_and_receive([(dist.isend, tensor, r) for r in range(last)], group)
    else:
        send_and_receive([(dist.isend, tensor, last)], group)
        send_and_receive([(dist.irecv, tensor, last)], group)


def predictions(devices: int, size: float, rate: float) -> Mapping[Shape, float]:
    """Returns the seconds of each shape by full-duplex links."""
    return {shape: seconds(shape, devices, size, rate) for shape in SHAPES}
