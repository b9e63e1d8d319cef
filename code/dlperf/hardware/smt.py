"""Measure whether two cores share execution units (SMT): the slowdown of loops that leave them idle or fill them.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from numba import njit

from dlperf.environment import cores, environment
from dlperf.hardware.probe import Unknown, probe
from dlperf.hardware.threads import at_once
from dlperf.measurement import Measurement


@njit(nogil=True, cache=True)
def chain(steps: int, x: int) -> int:
    """Returns where ``steps`` scramblings lead, one after another."""
    for _ in range(steps):
        x = (x ^ (x >> 29)) * 6364136223846793005
    return x


@njit(nogil=True, cache=True)
def eight_chains(steps: int, x: int) -> int:
    """Returns the sum of eight such chains, which a core can work on at the same time."""
    a, b, c, d, e, f, g, h = x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7
    for _ in range(steps):
        a = (a ^ (a >> 29)) * 6364136223846793005
        b = (b ^ (b >> 29)) * 6364136223846793005
        c = (c ^ (c >> 29)) * 6364136223846793005
        d = (d ^ (d >> 29)) * 6364136223846793005
        e = (e ^ (e >> 29)) * 6364136223846793005
        f = (f ^ (f >> 29)) * 6364136223846793005
        g = (g ^ (g >> 29)) * 6364136223846793005
        h = (h ^ (h >> 29)) * 6364136223846793005
    return a + b + c + d + e + f + g + h


def slowdown(loop: Callable[[int, int], int], steps: int = 2_000_000, pairs: int = 15) -> Measurement:
    """Returns the time of ``loop`` on two cores at once over its time on one, in turn so many times.

    Each time is the quickest of three runs, because a stranger on one of the cores only adds to it. Raises `Unknown`
    on a machine with one core.
    """
    if cores() < 2:
        raise Unknown("this process may use one core: nothing runs beside anything else")
    loop(1, 0)  # compiles
    task = partial(loop, steps, 1)
    quickest = lambda count: min(at_once([task] * count) for _ in range(3))
    return Measurement(
        tuple(quickest(2) / quickest(1) for _ in range(pairs)),
        "1",
        "two cores over one",
        environment=environment("cpu"),
    )


@probe(
    "slowdown by a neighbour", "two threads on two cores, eight independent chains each; 1 if the cores share nothing"
)
def neighbour() -> Measurement:
    """Returns how many times as long a loop that fills a core takes beside another one."""
    return slowdown(eight_chains)


PROBES = (neighbour,)
