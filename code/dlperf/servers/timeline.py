"""Build a timeline of workers' pushes under injected faults, and compute lost pushes, outages and rates from it.

The chapter *Parameter servers* draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import floor, inf
from typing import Any


@dataclass(frozen=True)
class Push:
    """A push of a worker, which adds 1 at ``place``: begun, acknowledged, and counted when its round had ended.

    Moments are in seconds; infinite is what never came.
    """

    worker: int
    place: int
    begin: float
    acknowledged: float = inf
    counted: float = inf


@dataclass(frozen=True)
class Event:
    """Something was done to somebody: ``what`` is kill, start, pause, resume, cut or mend; ``who`` as "server 1"."""

    moment: float
    what: str
    who: str


@dataclass(frozen=True)
class Seen:
    """A worker learnt of an epoch, in which these servers hold each range, the head first."""

    worker: int
    moment: float
    epoch: int
    chains: tuple[tuple[int, ...], ...]
    dropped: tuple[int, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a server answered to a read in an epoch: "value", or the reason why it refused, with its own words."""

    moment: float
    server: int
    epoch: int
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Timeline:
    """All that happened, in order of time, in seconds since the first push was acknowledged; see `read` for the files.

    ``sums`` is what each layer adds up to at the end. ``again`` counts the parts of pushes that came to a server which
    had them already. ``refused`` counts, by reason, what a server that was paused had
    refused before, and when it had come back. ``objections`` are those of `dlperf.kvstore.history`: none, if all is
    well.
    """

    pushes: tuple[Push, ...]
    events: tuple[Event, ...]
    seen: tuple[Seen, ...]
    sums: tuple[int, ...]
    objections: tuple[str, ...]
    answers: tuple[Answer, ...] = ()
    refused: tuple[dict[str, int], ...] = ()
    again: int = 0

    @property
    def acknowledged(self) -> list[float]:
        """The moments at which pushes were acknowledged, of all workers, in order."""
        return sorted(push.acknowledged for push in self.pushes if push.acknowledged < inf)

    @property
    def harm(self) -> list[Event]:
        """The events that do harm, in order."""
        return [event for event in self.events if event.what in HARM]

    @property
    def is_whole(self) -> bool:
        """Whether each layer has what was acknowledged, and nothing that was not begun; and reads fit together."""
        least, most = len(self.acknowledged), len(self.pushes)
        return all(least <= total <= most for total in self.sums) and not self.objections

    @property
    def lost(self) -> int:
        """How many acknowledged pushes a layer lacks at the end, of all layers together."""
        return sum(max(0, len(self.acknowledged) - total) for total in self.sums)

    @property
    def outages(self) -> list[float]:
        """The `outage` of each event that does harm, in order."""
        return [self.outage(event) for event in self.harm]

    @property
    def is_fenced(self) -> bool:
        """Whether a server that was asked before it was paused, meanwhile, and when it was back answered only at first.

        Then it refused for the epoch, which it knew by then to be over. Raises ValueError where nobody was asked.
        """
        if len(self.answers) != 3:
            raise ValueError(f"a server is asked before, while and after it is paused; got {len(self.answers)} answers")
        before, paused, back = (answer.reason for answer in self.answers)
        return before == "value" != paused and back == "epoch"

    def rate(self, width: float = 0.1) -> tuple[list[float], list[float]]:
        """Returns moments that are ``width`` apart, and the pushes per second acknowledged in the time from each on."""
        counts = [0] * (floor(max(self.acknowledged, default=0.0) / width) + 1)
        for moment in self.acknowledged:
            counts[floor(moment / width)] += 1
        return [k * width for k in range(len(counts))], [count / width for count in counts]

    def outage(self, event: Event) -> float:
        """Returns the longest time without an acknowledged push after an event that does harm, before the next does.

        It begins with the last push acknowledged before. Raises ValueError if the event does no harm.
        """
        if event.what not in HARM:
            raise ValueError(f"what does harm is one of {', '.join(HARM)}, got {event.what}")
        later = [each.moment for each in self.events if each.moment > event.moment and each.what in HARM]
        until = min(later, default=inf)
        gaps = [(a, b) for a, b in pairwise(self.acknowledged) if event.moment < b and a < until]
        return max((min(b, until) - a for a, b in gaps), default=0.0)  # what comes later is the next one's


HARM = ("kill", "pause", "cut")
"""Events that do harm; others end it."""


def read(lines: Sequence[Sequence[Any]]) -> tuple[list[Push], list[Seen]]:
    """Returns the pushes that workers noted, and the views, in order of time.

    Lines begin with what they tell ("begin", "acknowledged", "counted", "seen"), the worker, and the moment.
    """
    moments: dict[tuple[int, int], dict[str, float]] = {}
    seen = []
    for what, worker, moment, *more in lines:
        if what == "seen":
            epoch, chains, dropped = more
            seen.append(Seen(worker, moment, epoch, tuple(map(tuple, chains)), tuple(dropped)))
        elif what in ("begin", "acknowledged", "counted"):
            moments.setdefault((worker, more[0]), {})[what] = moment
    pushes = [Push(worker, place, **known) for (worker, place), known in moments.items()]
    return sorted(pushes, key=lambda push: push.begin), sorted(seen, key=lambda each: each.moment)


def shifted(line: Timeline, zero: float) -> Timeline:
    """Returns a timeline whose moments count from ``zero``."""
    return replace(
        line,
        pushes=tuple(_earlier(p, zero, "begin", "acknowledged", "counted") for p in line.pushes),
        events=tuple(_earlier(e, zero, "moment") for e in line.events),
        seen=tuple(_earlier(s, zero, "moment") for s in line.seen),
        answers=tuple(_earlier(a, zero, "moment") for a in line.answers),
    )


def _earlier(it: Any, zero: float, *names: str) -> Any:
    return replace(it, **{name: getattr(it, name) - zero for name in names})
