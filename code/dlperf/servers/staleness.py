"""Compute the staleness and the delay of a worker's reads, from the rounds that each worker had pushed.

Clocks are how many rounds each worker has pushed, as the store has counted them. The chapter *Parameter servers* tells
the story.
"""

from __future__ import annotations

from collections.abc import Sequence

Clocks = Sequence[int]
"""How many rounds of each worker are in what was read."""


def behind(worker: int, read: Clocks) -> int:
    """Returns how many rounds the slowest other worker lacked in what a worker read, of those that this one has pushed.

    Negative where all others were ahead. SSP promises that it is never more than its bound. Raises ValueError where
    there are no others. Source: Ho et al., More effective distributed ML via a stale synchronous parallel parameter
    server, NIPS 2013, section 2.
    """
    others = [clock for other, clock in enumerate(read) if other != worker]
    if not others:
        raise ValueError(f"staleness is between workers, and there is one: got clocks {list(read)}")
    return read[worker] - min(others)


def delay(worker: int, read: Clocks, pushed: Clocks) -> int:
    """Returns how many pushes of others came between a worker's read and its own push: its gradient knew none of them.

    ``pushed`` are the clocks after that push. Source: Agarwal and Duchi, Distributed delayed stochastic optimization,
    NIPS 2011, where it is called tau.
    """
    came = [after - before for before, after in zip(read, pushed, strict=True)]
    return sum(came) - came[worker]
