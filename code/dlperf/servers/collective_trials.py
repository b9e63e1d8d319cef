"""All-reduce algorithms clocked and counted: ranks take turns with the ways, on a network's hosts or in a group.

The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf import network
from dlperf.alpha_beta import Line
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.multigpu.reduce import AllReduce, send_and_receive
from dlperf.servers import collective_costs, links, loads
from dlperf.servers.collectives import WAYS, hierarchical
from dlperf.servers.loads import Links, Load, Phase
from dlperf.turns import new_pairing_id
from dlperf.workers import Workers


def in_a_row(world_size: int) -> int:
    """Returns how many messages `step` sends one after the other: as many as half of a ring of so many ranks."""
    return max(1, world_size - 1)


def step(tensor: Tensor, group: Any = None) -> None:
    """Sends a tensor to the right while one comes from the left, `in_a_row`: messages as the ways send them.

    Ranks do not begin at one moment. Of a single message that would be a part of its latency; a way pays for it once.
    """
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    left, right, room = (rank - 1) % size, (rank + 1) % size, torch.empty_like(tensor)
    for _ in range(in_a_row(size)):
        send_and_receive([(dist.irecv, room, left), (dist.isend, tensor, right)], group)


def library(tensor: Tensor, group: Any = None) -> None:
    """Adds up a tensor over all ranks by the all-reduce of the process group's own backend."""
    dist.all_reduce(tensor, group=group)


ALL: dict[str, AllReduce] = WAYS | {"library": library, "step": step}
"""The ways, beside them what the backend has, and messages in a row, from which their seconds are predicted."""


def clocked(
    rank: int, size: int, sizes: Sequence[int], repeats: int, ways: Mapping[str, AllReduce] = ALL
) -> dict[tuple[str, int], list[float]]:
    """Returns the seconds of each way by way and bytes of the tensor, those of `step` for a message; ways take turns.

    Tensors are float32, in the memory of the host. Joins the process group of a network's hosts, unless there is one.
    """
    network.process_group(rank, size)
    found: dict[tuple[str, int], list[float]] = {}
    for length in sizes:
        tensor = torch.zeros(length // 4)  # zeros stay what they are, however often they are added up
        for turn in range(repeats + 1):
            for way, all_reduce in ways.items():
                dist.barrier()
                start = perf_counter()
                all_reduce(tensor)
                taken = (perf_counter() - start) / (in_a_row(size) if all_reduce is step else 1)
                if turn:  # the first warms up
                    found.setdefault((way, length), []).append(taken)
    return found


def slowest(found: Sequence[Mapping[tuple[str, int], list[float]]]) -> dict[tuple[str, int], Measurement]:
    """Returns the seconds until the last rank was done, by the way and the tensor's bytes; ways took turns."""
    taking, here = [each for each in found if each], environment("cpu")
    marks = {length: new_pairing_id() for _, length in taking[0]}
    measured = {}
    for way, length in taking[0]:
        samples = tuple(map(max, zip(*(each[way, length] for each in taking), strict=True)))
        measured[way, length] = Measurement(samples, "s", f"{way}, {length} bytes", 1, here, marks[length])
    return measured


def counted(
    rank: int, size: int, length: int, repeats: int = 3, ways: Mapping[str, AllReduce] = ALL
) -> dict[str, Load]:
    """Returns what this rank's host sends and receives in an all-reduce of ``length`` bytes, in tensors, by the way.

    Acknowledgements are counted, and what was lost and sent again.
    """
    network.process_group(rank, size)
    tensor, found = torch.zeros(length // 4), {}
    for way, all_reduce in ways.items():
        all_reduce(tensor)  # makes what connections it needs
        before = _carried_by_all()
        for _ in range(repeats):
            all_reduce(tensor)
        found[way] = links.difference([before], [_carried_by_all()], repeats * length)[0]
    return found


def _carried_by_all() -> Load:
    """Returns what this rank's host has carried, read while none of its ranks sends more than barriers."""
    dist.barrier()
    count = links.carried()
    dist.barrier()
    return count


@dataclass(frozen=True)
class Compared:
    """What ways took over so many ``hosts``, by way and bytes, and what each host's link carried, in tensors.

    ``line`` is that of messages in a row, from which `Compared.told` predicts.
    """

    hosts: int
    taken: dict[tuple[str, int], Measurement]
    counts: dict[str, Phase]
    line: Line

    @property
    def sizes(self) -> list[int]:
        """The bytes of the tensors, in order."""
        return sorted({length for _, length in self.taken})

    @property
    def links(self) -> dict[str, Links]:
        """The pictures of two of the ways."""
        names = tuple(map(str, range(self.hosts)))
        phases = {"ring": loads.spread(self.hosts), "tree": loads.tree(self.hosts)}
        return {way: Links(names, tuple(each), self.counts[way]) for way, each in phases.items()}

    def told(self, way: str, length: int) -> float:
        """Returns the seconds of a way by formula."""
        return collective_costs.seconds(way, self.hosts, length, self.line)

    def ratio(self, way: str, other: str, length: int) -> Measurement:
        """Returns how many times as long one way takes as another."""
        return self.taken[way, length] / self.taken[other, length]

    def crossover(self, one: str, other: str) -> float | None:
        """Returns the bytes for which two ways should take equally long; see `collective_costs.crossover`."""
        return collective_costs.crossover(one, other, self.hosts, self.line)

    def crossed(self, one: str, other: str) -> tuple[int, int]:
        """Returns the largest size for which one way was faster by its median, 0 for none, and the next size.

        Where it was for all, that is twice the largest.
        """
        last = max((n for n in self.sizes if self.ratio(one, other, n).median < 1), default=0)
        return last, min((n for n in self.sizes if n > last), default=2 * last)

    @property
    def off(self) -> float:
        """By which part the prediction for the largest tensor is off, of the way for which it is off most."""
        big = self.sizes[-1]
        return max(abs((self.taken[way, big] / self.told(way, big)).median - 1) for way in WAYS)


def compared(sizes: Sequence[int], hosts: int = 4, repeats: int = 5) -> Compared:
    """Returns what each way takes on hosts of a network, and what their links carry for the largest tensor.

    Raises `dlperf.network.Unavailable` where there can be no network.
    """
    with network.Network(hosts) as net:
        found = net.run(counted, hosts, max(sizes), 1, WAYS, timeout=300)
        taken = slowest(net.run(clocked, hosts, sizes, repeats, timeout=300))
    counts = {way: tuple(host[way] for host in found) for way in WAYS}
    return Compared(hosts, taken, counts, collective_costs.line_of(taken))


@dataclass(frozen=True)
class Levels:
    """What a ring over all ranks took, and what adding up by levels did, by way and bytes of the tensor.

    ``links`` are what the link of each host carried for the largest one.
    """

    taken: dict[tuple[str, int], Measurement]
    links: dict[str, Links]

    def gain(self, length: int) -> Measurement:
        """Returns how many times as long the ring takes for so many bytes."""
        return self.taken["ring", length] / self.taken["by level", length]


def by_level(sizes: Sequence[int], hosts: int = 2, local: int = 2, repeats: int = 7) -> Levels:
    """Returns what tensors of so many bytes take over hosts of ``local`` ranks each, by one ring and by levels.

    Raises `dlperf.network.Unavailable` where there can be no network.
    """
    ways = {"ring": WAYS["ring"], "by level": partial(hierarchical, local=local)}
    with network.Network(hosts) as net:
        counts = net.run(on_each, hosts, local, counted, max(sizes), 1, ways, timeout=300)
        found = net.run(on_each, hosts, local, clocked, sizes, repeats, ways, timeout=300)
    taken = slowest([rank for host in found for rank in host])
    names = tuple(map(str, range(hosts)))
    phases = {"ring": loads.ring_of_hosts(hosts, local), "by level": loads.by_level(hosts, local)}
    links = {way: Links(names, tuple(phases[way]), tuple(host[0][way] for host in counts)) for way in ways}
    return Levels(taken, links)


def on_each(host: int, hosts: int, local: int, fn: Any, *args: Any) -> list[Any]:
    """Returns ``fn(rank, world_size, *args)`` of each of ``local`` processes of this host of a network, in order.

    They share the link of their host, and reach one another in its memory, so a way may treat them as near; ranks of
    a host follow one another. They are started for this call, and end with it.
    """
    with Workers(local) as workers:
        return workers.run(_one, host, hosts, local, fn, args)


def _one(place: int, host: int, hosts: int, local: int, fn: Any, args: Sequence[Any]) -> Any:
    return fn(host * local + place, hosts * local, *args)
