"""Compute and simulate a job's time under machine failures: restart from a checkpoint, or takeover of a key range.

Each has a closed form, and a simulation by events that does not know it. Times are in seconds; failures come at
random, at a constant rate. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from dlperf.concise.young import interval, job_mtbf, lost_exactly
from dlperf.servers.events import Clock

DAY_S, HOUR_S = 86_400.0, 3600.0
SAVE_S, RESTART_S, TAKEOVER_S = 30.0, 120.0, 2.0
"""What `useful_time` assumes of saving a checkpoint, of a restart, and of a takeover."""


def restarted(work: float, mtbf: float, every: float, cost: float, restart: float = 0.0) -> float:
    """Returns the expected seconds of so much ``work``, if each failure sends all back to the last checkpoint.

    The job saves ``every`` so many seconds of work, which takes ``cost``, and begins again after ``restart``. Its
    MTBF is `dlperf.concise.young.job_mtbf` of its machines. Source: Daly, A higher order estimate of the optimum
    checkpoint interval for restart dumps, 2006.
    """
    return work / (1 - lost_exactly(every, cost, mtbf, restart))


def taken_over(work: float, mtbf: float, takeover: float) -> float:
    """Returns the expected seconds of so much ``work``, if nobody works while any server's range is taken over.

    Others may fail meanwhile: takeovers are a queue with a place for all, which is empty for a share
    ``exp(-takeover / mtbf)`` of the time. The MTBF is that of all servers together. Source: Takács, Introduction to
    the Theory of Queues, 1962.
    """
    return work * math.exp(takeover / mtbf)


def simulate_restarts(
    work: float, mtbf: float, every: float, cost: float, restart: float, draw: np.random.Generator
) -> float:
    """Returns the seconds of a job that goes back to its last checkpoint when it fails, once.

    Raises ValueError where the work is no whole number of intervals.
    """
    todo = round(work / every)
    if not math.isclose(todo * every, work):
        raise ValueError(f"the work is a multiple of {every} s, got {work} s")
    clock, done, tries, end = Clock(), 0, 0, 0.0

    def begin(after: float) -> None:
        nonlocal tries
        tries += 1  # what was begun before does not count
        saves = after + every + cost
        clock.at(clock.now + saves, partial(saved, tries))

    def saved(tried: int) -> None:
        nonlocal done, end
        if tried == tries:
            done, end = done + 1, clock.now
            if done < todo:
                begin(0.0)

    def fails() -> None:
        if done < todo:
            begin(restart)
            clock.at(clock.now + draw.exponential(mtbf), fails)

    begin(0.0)
    clock.at(draw.exponential(mtbf), fails)
    clock.run()
    return end


def simulate_takeovers(work: float, mtbf: float, takeover: float, draw: np.random.Generator) -> float:
    """Returns the seconds of a job that waits while a server's range is taken over, and loses nothing, once."""
    clock, left, away, since, end = Clock(), work, 0, 0.0, 0.0

    def goes_on() -> None:
        nonlocal since
        since = clock.now
        clock.at(since + left, partial(is_done, since))

    def is_done(began: float) -> None:
        nonlocal left, end
        if away == 0 and began == since:
            left, end = 0.0, clock.now

    def fails() -> None:
        nonlocal left, away
        if left > 0:
            if away == 0:
                left -= clock.now - since
            away += 1
            clock.at(clock.now + takeover, is_back)
            clock.at(clock.now + draw.exponential(mtbf), fails)

    def is_back() -> None:
        nonlocal away
        away -= 1
        if away == 0:
            goes_on()

    goes_on()
    clock.at(draw.exponential(mtbf), fails)
    clock.run()
    return end


class UsefulTime(NamedTuple):
    """The share of a job's time that is progress, from 0 to 1: by closed form, and of simulated jobs together."""

    predicted: float
    simulated: float


def useful_time(machines: int, rate: float, work: float = DAY_S, jobs: int = 1000) -> dict[str, UsefulTime]:
    """Returns the useful time of a job of ``work`` seconds, by what follows a failure.

    Each machine fails ``rate`` times an hour. A job begins anew, goes back to its last checkpoint, as many of which are
    saved as come nearest to Young's interval, or waits for a takeover.
    """
    mtbf, draw = job_mtbf(machines, HOUR_S / rate), np.random.default_rng(machines)
    every = work / max(1, round(work / interval(SAVE_S, mtbf)))
    anew, saved = (work, mtbf, work, 0.0, RESTART_S), (work, mtbf, every, SAVE_S, RESTART_S)
    ways: dict[str, tuple[float, Callable[[], float]]] = {
        "begin anew": (restarted(*anew), lambda: simulate_restarts(*anew, draw)),
        "checkpoints": (restarted(*saved), lambda: simulate_restarts(*saved, draw)),
        "takeovers": (taken_over(work, mtbf, TAKEOVER_S), lambda: simulate_takeovers(work, mtbf, TAKEOVER_S, draw)),
    }
    return {
        way: UsefulTime(work / expected, jobs * work / sum(simulate() for _ in range(jobs)))
        for way, (expected, simulate) in ways.items()
    }


def failing(rate: float, machine_hours: float) -> float:
    """Returns the share of jobs of so many machine-hours that fail, at so many failures per machine-hour."""
    return -math.expm1(-rate * machine_hours)


def implied_rate(share: float, machine_hours: float) -> float:
    """Returns the failures per machine-hour at which such a share of jobs of so many machine-hours would fail.

    A constant rate is the same for jobs of all sizes. Those of Li et al., Scaling Distributed Machine Learning with
    the Parameter Server, OSDI 2014, table 1, do not have one. Raises ValueError where no rate will do.
    """
    if not 0 <= share < 1 or machine_hours <= 0:
        raise ValueError(f"a share is in [0, 1), and machine-hours are positive, got {share} and {machine_hours}")
    return -math.log1p(-share) / machine_hours


def weibull_shape(shares: Sequence[float], machine_hours: Sequence[float]) -> float:
    """Returns the exponent of machine-hours that the expected failures of a job grow with, by least squares.

    It is 1 where the rate is constant; below it, what has run for long fails less. Of two points or more. Source:
    Schroeder and Gibson, A large-scale study of failures in high-performance computing systems, DSN 2006.
    """
    expected = [implied_rate(share, hours) * hours for share, hours in zip(shares, machine_hours, strict=True)]
    slope, _ = np.polyfit(np.log(machine_hours), np.log(expected), 1)
    return float(slope)
