"""Compute the load of each machine's link during an aggregation, by formula, and the bottleneck of each phase.

Each machine has a full-duplex link to a switch. A phase ends for all before the next one begins, and takes as long as
the direction of a link that carries most. Loads are in tensors: 1.0 is as many bytes as a machine has to add up. The
chapter *Parameter servers* draws them (`dlperf.servers.drawings_links`), and counts them (`dlperf.servers.links`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Load(NamedTuple):
    """The tensors that a machine sends and receives."""

    out: float = 0.0
    into: float = 0.0


Phase = tuple[Load, ...]
"""The load of each machine in a phase."""


@dataclass(frozen=True)
class Links:
    """What machines' links carry: ``phases`` by formula, and ``counts`` of each machine; and their names.

    A machine's name is short: ``s0`` is a server, ``w0`` a worker, ``0`` a rank.
    """

    names: tuple[str, ...]
    phases: tuple[Phase, ...]
    counts: Phase

    @property
    def fullest(self) -> float:
        """How many tensors pass one after another, by formula."""
        return fullest(self.phases)

    @property
    def off(self) -> float:
        """By how many tensors a count is off what was predicted, in the direction of a link where it is most."""
        pairs = zip(self.counts, total(self.phases), strict=True)
        return max(abs(count - load) for pair in pairs for count, load in zip(*pair, strict=True))


def back(phase: Phase) -> Phase:
    """Returns the phase in which all that came goes back by the same ways."""
    return tuple(Load(load.into, load.out) for load in phase)


def through_one(devices: int) -> list[Phase]:
    """Returns the phases where the first of the devices adds up: tensors come to it, and the sum goes back."""
    there = (Load(0, devices - 1), *[Load(1, 0)] * (devices - 1))
    return [there, back(there)]


def on_cpu(devices: int) -> list[Phase]:
    """Returns the phases where a machine beside the devices, the last one, adds up."""
    there = (*[Load(1, 0)] * devices, Load(0, devices))
    return [there, back(there)]


def spread(devices: int) -> list[Phase]:
    """Returns the phases where each device adds up a share: directly (sharded), around a ring, or as a server."""
    share = (devices - 1) / devices
    return [(Load(share, share),) * devices] * 2


def tree(devices: int) -> list[Phase]:
    """Returns the phases of a binomial tree, whose root is the first device: up a level in each, and down again."""
    up = []
    for span in (2**level for level in range((devices - 1).bit_length())):
        senders = {rank for rank in range(devices) if rank % (2 * span) == span}
        receivers = {rank - span for rank in senders}
        up.append(tuple(Load(rank in senders, rank in receivers) for rank in range(devices)))
    return [*up, *map(back, reversed(up))]


def ring_of_hosts(hosts: int, local: int) -> list[Phase]:
    """Returns the phases of one ring over all ranks of hosts with ``local`` ranks each, by the link of each host.

    Neighbours on a host do not use its link: one rank of each host sends by it, and one receives.
    """
    ranks = hosts * local
    share = (ranks - 1) / ranks if hosts > 1 else 0.0
    return [(Load(share, share),) * hosts] * 2


def by_level(hosts: int, local: int) -> list[Phase]:
    """Returns the phases where ranks of a host add up first, and then each its part with its peers on other hosts.

    The parts of a host's ranks are a tensor together, however many ranks there are.
    """
    if local < 1:
        raise ValueError(f"a host has at least one rank, got local={local}")
    return spread(hosts)


def servers(number: int, workers: int, copies: int = 1) -> list[Phase]:
    """Returns the phases of pushing and then pulling through servers on hosts of their own, which come first.

    Each server hands what is pushed to it down a chain of so many ``copies``, as it comes. Raises ValueError where
    there are fewer servers than copies.
    """
    if not 1 <= copies <= number:
        raise ValueError(f"{copies} copies need as many servers, got {number}")
    part = workers / number
    push = (*[Load((copies - 1) * part, copies * part)] * number, *[Load(1, 0)] * workers)
    pull = (*[Load(part, 0)] * number, *[Load(0, 1)] * workers)
    return [push, pull]


def fullest(phases: Sequence[Phase]) -> float:
    """Returns how many tensors pass one after another: of each phase, the direction of a link that carries most."""
    return sum(max(max(load) for load in phase) for phase in phases)


def fullest_half_duplex(phases: Sequence[Phase]) -> float:
    """Returns the same where a link carries one direction at a time: of each phase, the link that carries most."""
    return sum(max(sum(load) for load in phase) for phase in phases)


def total(phases: Sequence[Phase]) -> Phase:
    """Returns what each machine sends and receives in all phases together."""
    return tuple(
        Load(sum(each.out for each in loads), sum(each.into for each in loads)) for loads in zip(*phases, strict=True)
    )
