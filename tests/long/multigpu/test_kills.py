"""Launched processes that are killed at random, twenty times: each is named, no peer is left, and nothing hangs.

``pytest -rA`` shows for each kill who was killed, after which event, and the first line of what `launch` said.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.multigpu.programs import EVENTS, launch_and_kill

KILLS = 20
SEED = 0
"""Which draws ranks, events, and whether the rank waits there for its end, or runs on into it."""


def draw() -> list[tuple[int, str, int, int, bool]]:
    """Returns for each launch its number, the event, the victim's rank, the processes, and whether it waits."""
    chance = random.Random(SEED)
    sizes = [chance.choice([2, 3, 4]) for _ in range(KILLS)]
    return [
        (n, chance.choice(EVENTS), chance.randrange(size), size, chance.random() < 0.5) for n, size in enumerate(sizes)
    ]


@pytest.mark.parametrize(("number", "event", "rank", "size", "waits"), draw())
def test_each_of_twenty_kills_is_named_and_leaves_nothing(
    tmp_path: Path, number: int, event: str, rank: int, size: int, waits: bool
) -> None:
    print(f"kill {number} (seed {SEED}): rank {rank} of {size} after {event!r}", end=", ")
    print("where it waits" if waits else "while it goes on", end=": ", flush=True)
    error = launch_and_kill(tmp_path / "events", event, rank, size, [(event, rank)] * waits)
    print(str(error).splitlines()[0])
    assert (error.rank, "its process was ended by SIGKILL" in str(error)) == (rank, True), error
