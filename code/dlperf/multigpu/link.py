"""Measure a link between two devices: latency and time per byte of messages, and latency in quick succession.

The chapters on several GPUs predict steps from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from time import perf_counter

import torch
import torch.distributed as dist

from dlperf.alpha_beta import Line, fit
from dlperf.device import is_gpu, synchronize
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.multigpu.group import Crew, first, own_device
from dlperf.multigpu.reduce import send_and_receive
from dlperf.turns import interleave

SIZES = 4, 2**22, 2**23, 2**24
"""The bytes of the messages by which a link is measured: one that is nearly none, and some of which a link that lets
short bursts pass at once has to send nearly all."""

TRIPS = 20
"""So often do short messages go there and back."""
CUT, FEW, MANY = 2**24, 16, 64
"""The bytes of a tensor that is added up in few parts and in many, all begun at once: few overlap one another already,
which a single message cannot. Parts are as large as usual buckets, 1 MiB and 0.25 MiB; much smaller ones make TCP
stall for a fifth of a second now and then."""


def there_and_back(rank: int, world_size: int, size: int) -> float:
    """Returns the seconds of half a round trip of ``size`` bytes between ranks 0 and 1, the mean of a few."""
    ball = torch.zeros(size // 4, device=own_device())
    away, here = [(dist.isend, ball, 1 - rank)], [(dist.irecv, ball, 1 - rank)]
    group, trips = first(2), TRIPS if size < 2**16 or is_gpu(own_device()) else 1
    dist.barrier(group=group)
    start = perf_counter()
    for _ in range(trips):
        for messages in (away, here) if rank == 0 else (here, away):
            send_and_receive(messages, group)
    synchronize(ball.device)
    return (perf_counter() - start) / (2 * trips)


def measure_link(crew: Crew, sizes: Sequence[int] = SIZES, repeats: int = 5) -> Line:
    """Returns the latency of a link and the seconds of a byte: the line through the times of messages.

    Where noise leaves no such line, the shortest time is the latency, and the longest message gives the rate."""
    sides = {size: partial(_there_and_back, crew.first(2), size) for size in sizes}
    seconds = [median(taken) for taken in interleave(sides, repeats).values()]
    try:
        return fit(sizes, seconds)
    except ValueError:  # something else had the cores, and no line goes through: the ends of it
        return Line(min(seconds), seconds[-1] / sizes[-1])


def _there_and_back(pair: Crew, size: int) -> float:
    return pair.run(there_and_back, size)[0]


def begun_at_once(rank: int, world_size: int, size: int, number: int) -> float:
    """Returns the seconds in which ranks 0 and 1 add up ``size`` bytes, in so many all-reduces that begin at once."""
    group, parts = first(2), torch.zeros(size // 4, device=own_device()).chunk(number)
    dist.barrier(group=group)
    start = perf_counter()
    for message in [dist.all_reduce(part, group=group, async_op=True) for part in parts]:
        message.wait()
    synchronize(parts[0].device)
    return perf_counter() - start


def in_succession(crew: Crew, repeats: int = 15) -> Measurement:
    """Returns the latency of messages in quick succession, in s; noise may make a turn's negative.

    It is what a tensor takes longer in many all-reduces than in few, shared among the messages that are more: an
    all-reduce between two has two.
    """
    ways = {number: partial(_begun_at_once, crew.first(2), number) for number in (FEW, MANY)}
    few, many = (
        taken.measurement(float, "s", f"{number} all-reduces at once", 1, environment("cpu"))
        for number, taken in interleave(ways, repeats).items()
    )
    return (many - few) / (2 * (MANY - FEW))


def _begun_at_once(pair: Crew, number: int) -> float:
    return max(pair.run(begun_at_once, CUT, number))
