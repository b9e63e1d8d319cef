"""Adding up the gradients of all workers in a simulated cluster in phases, each of a ring or of direct messages.

One level has two phases, reduce-scatter and all-gather; two levels have four. The workers are all hosts there are.
The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from dlperf.servers.events import Simulation


class Phase:
    """Hosts enter it at any time, exchange shares with those of their group, and are ``done`` when they have all."""

    def __init__(
        self,
        sim: Simulation,
        groups: Sequence[Sequence[int]],
        share: float,
        adds: bool,
        done: Callable[[int], None],
    ) -> None:
        self.sim, self.share, self.adds, self.done = sim, share, adds, done
        self.group = {rank: list(group) for group in groups for rank in group}
        self.place = {rank: i for group in groups for i, rank in enumerate(group)}
        self.heard, self.entered = Counter[int](), set[int]()

    def enter(self, rank: int) -> None:
        """Has a host begin to send, and make use of what it was sent before."""
        raise NotImplementedError

    def hear(self, rank: int) -> None:
        """Sees to a share that has come, which waits as long as its host has not entered."""
        raise NotImplementedError

    def send(self, rank: int, ahead: int) -> None:
        """Sends a share to the host so many places ahead in the group."""
        group = self.group[rank]
        target = group[(self.place[rank] + ahead) % len(group)]
        hear = partial(self.hear, target)
        self.sim.send(rank, target, self.share, hear, self.adds)


class Direct(Phase):
    """Everybody sends everybody else a share: adding up by servers on the workers' hosts, or handing out the sums."""

    def enter(self, rank: int) -> None:
        self.entered.add(rank)
        for ahead in range(1, len(self.group[rank])):
            self.send(rank, ahead)
        self._check(rank)

    def hear(self, rank: int) -> None:
        self.heard[rank] += 1
        self._check(rank)

    def _check(self, rank: int) -> None:
        others = len(self.group[rank]) - 1
        if rank in self.entered and self.heard[rank] == others:
            self.done(rank)


class Ring(Phase):
    """Everybody passes on to the next what came from the one before: reduce-scatter, or all-gather."""

    def enter(self, rank: int) -> None:
        self.entered.add(rank)
        for turn in range(self.heard[rank] + 1):
            self._pass_on(rank, turn)

    def hear(self, rank: int) -> None:
        self.heard[rank] += 1
        if rank in self.entered:
            self._pass_on(rank, self.heard[rank])

    def _pass_on(self, rank: int, turn: int) -> None:
        if turn == len(self.group[rank]) - 1:
            self.done(rank)
        else:
            self.send(rank, 1)


@dataclass(frozen=True)
class Plan:
    """A phase to come: its ``groups``, the bytes of a ``share``, and whether they are added up."""

    groups: Sequence[Sequence[int]]
    share: float
    adds: bool


def one_level(world_size: int, size: float) -> list[Plan]:
    """Returns the two phases of an all-reduce among all: reduce-scatter and all-gather."""
    everybody = [range(world_size)]
    return [Plan(everybody, size / world_size, adds) for adds in (True, False)]


def two_level(world_size: int, size: float, group: int) -> list[Plan]:
    """Returns the four phases of an all-reduce: in groups of neighbours, across them twice, and in groups again.

    Each host answers for a share of its group's sum. Raises ValueError where the groups are not of equal size.
    Source: Mikami et al., Massively Distributed SGD: ImageNet/ResNet-50 Training in a Flash, 2018, whose groups are
    the rows of a torus.
    """
    if group < 1 or world_size % group:
        raise ValueError(f"{world_size} hosts make no groups of {group}: take a divisor")
    inside = [range(start, start + group) for start in range(0, world_size, group)]
    across = [range(place, world_size, group) for place in range(group)]
    ways = [(inside, size / group, True), (across, size / world_size, True)]
    return [Plan(*way) for way in ways] + [Plan(groups, share, False) for groups, share, _ in reversed(ways)]


def in_phases(sim: Simulation, ready: Sequence[float], kind: type[Phase], plans: Sequence[Plan]) -> list[float]:
    """Returns when each worker has the sum; it enters a phase as soon as it is done with the one before."""
    done = [0.0] * len(ready)

    def then(rank: int) -> None:
        done[rank] = sim.clock.now

    enter = then
    for plan in reversed(plans):
        enter = kind(sim, plan.groups, plan.share, plan.adds, enter).enter
    sim.start(ready, enter)
    return done
