"""Discrete-event simulation of messages between hosts connected by a non-blocking switch.

What happens is a function that is called at its time, and may have others called later; nothing else moves the
clock. Source: Fishman, Discrete-Event Simulation, 2001. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

Action = Callable[[], None]
"""What happens at some time."""


class Clock:
    """Does each action at its time; of those at the same time first what was asked for first."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Action]] = []
        self._asked = count()

    def at(self, time: float, action: Action) -> None:
        """Has something done at a time, in seconds; raises ValueError where that is over, or is no number."""
        if not time >= self.now:
            raise ValueError(f"it is {self.now} s: too late for {time} s")
        heappush(self._due, (time, next(self._asked), action))

    def run(self) -> float:
        """Returns the seconds when there is nothing left to do."""
        while self._due:
            self.now, _, action = heappop(self._due)
            action()
        return self.now


class Queue:
    """Serves one at a time, who came first: a link, or a processor."""

    def __init__(self) -> None:
        self.free = 0.0

    def take(self, now: float, seconds: float) -> float:
        """Returns when it begins with what came now, and takes so long."""
        begin = max(now, self.free)
        self.free = begin + seconds
        return begin


@dataclass(frozen=True)
class Cluster:
    """Hosts with a full-duplex link each, of ``rate`` B/s, and a processor that sees to what has come.

    A byte is ``alpha`` seconds on its way from the link of its sender to that of its receiver. A message takes the
    receiver's processor ``per_message`` seconds, and ``per_byte`` for each byte that it adds up. Rate and alpha are
    one number, or one for each host; then a host's alpha is that of what it sends. Raises ValueError if a rate
    is not positive, or seconds are negative.
    """

    rate: float | Sequence[float]
    alpha: float | Sequence[float]
    per_message: float = 0.0
    per_byte: float = 0.0

    def __post_init__(self) -> None:
        if slow := [each for each in _several(self.rate) if not each > 0]:
            raise ValueError(f"a link's rate is in bytes per second, above 0, got {slow[0]}")
        if odd := [s for s in (*_several(self.alpha), self.per_message, self.per_byte) if not s >= 0]:
            raise ValueError(f"alpha, and what a processor takes, are seconds, at least 0, got {odd[0]}")

    def rates(self, hosts: int) -> list[float]:
        """Returns the B/s of every host's link."""
        return _each("rate", self.rate, hosts)

    def alphas(self, hosts: int) -> list[float]:
        """Returns the seconds that what a host sends is on its way, of every host."""
        return _each("alpha", self.alpha, hosts)


class Message(NamedTuple):
    """So many bytes between two hosts, what then is done, and whether the target adds them up."""

    source: int
    target: int
    size: float
    then: Action
    adds: bool


class Simulation:
    """So many ``hosts`` of a cluster, which send each other messages.

    ``delivered`` are those that have come: source, target, bytes. ``held`` are the most bytes that have waited for
    each host's link in the switch, which here has room for all.
    """

    def __init__(self, cluster: Cluster, hosts: int) -> None:
        self.clock, self.cluster, self.hosts = Clock(), cluster, hosts
        self.rate, self.alpha = cluster.rates(hosts), cluster.alphas(hosts)
        self.away = [Queue() for _ in range(hosts)]
        self.here = [Queue() for _ in range(hosts)]
        self.processor = [Queue() for _ in range(hosts)]
        self.delivered: list[tuple[int, int, float]] = []
        self.held = [0.0] * hosts

    def start(self, ready: Sequence[float], then: Callable[[int], None]) -> None:
        """Has each host go on when it is ready, in seconds, and runs to the end.

        Its processor is taken until then: what comes before, waits.
        """
        for host, seconds in enumerate(ready):
            self.compute(host, seconds, partial(then, host))
        self.clock.run()

    def compute(self, host: int, seconds: float, then: Action) -> None:
        """Takes a host's processor for so long, then goes on."""
        begin = self.processor[host].take(self.clock.now, seconds)
        self.clock.at(begin + seconds, then)

    def send(
        self,
        source: int,
        target: int,
        size: float,
        then: Action,
        adds: bool = False,
    ) -> None:
        """Sends so many bytes, and goes on when their target has seen to them.

        Its link takes them as they come; what comes slower than it goes,
        the switch holds back until there will be no gap.
        """
        out, into = size / self.rate[source], size / self.rate[target]
        begin = self.away[source].take(self.clock.now, out)
        arrival = begin + self.alpha[source] + max(0.0, out - into)
        message = Message(source, target, size, then, adds)
        self.clock.at(arrival, partial(self._arrives, message))

    def _arrives(self, message: Message) -> None:
        now, target = self.clock.now, message.target
        rate = self.rate[target]
        seconds = message.size / rate
        begin = self.here[target].take(now, seconds)
        waits = (begin - now) * rate
        self.held[target] = max(self.held[target], waits)
        self.clock.at(begin + seconds, partial(self._has_come, message))

    def _has_come(self, message: Message) -> None:
        source, target, size, then, adds = message
        self.delivered.append((source, target, size))
        seconds = self.cluster.per_message
        if adds:
            seconds += self.cluster.per_byte * size
        self.compute(target, seconds, then)


def _several(given: float | Sequence[float]) -> Sequence[float]:
    return [given] if isinstance(given, (int, float)) else given


def _each(name: str, given: float | Sequence[float], hosts: int) -> list[float]:
    several = _several(given)
    if len(several) not in {1, hosts}:
        raise ValueError(f"{name} is one number, or one for each of {hosts} hosts, got {len(several)} of them")
    return [float(each) for each in several] * (hosts // len(several))
