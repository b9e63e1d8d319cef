"""Workers killed with SIGKILL, in mid-epoch and while a checkpoint is written: the losses go on, bit for bit.

`DLPERF_KILLS=20` makes 20 kills of each kind; by default there are fewer, in a minute.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from dlperf.concise import faults
from dlperf.concise.faults import AtStep, History, Moment, WhileSaving

KILLS = int(os.environ.get("DLPERF_KILLS", "4"))
EACH = 5
"""The most kills in one training."""
STEPS, EVERY = 100, 5
OPTIONS = f"--steps={STEPS}", f"--every={EVERY}", "--width=64"


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> History:
    history = faults.train(tmp_path_factory.mktemp("unbroken"), (), *OPTIONS, timeout=300)
    assert history.status == 0, history.errors
    assert sorted(history.losses(0)) == list(range(1, STEPS + 1))
    return history


def kills(kind: Callable[..., Moment], number: int, draw: random.Random) -> list[list[Moment]]:
    """Returns moments for several trainings, ``number`` in all: in each of them later and later."""
    plans = []
    while number > 0:
        some = min(EACH, number)
        number -= some
        steps = sorted(draw.sample(range(EVERY, STEPS - EVERY), some))
        plans.append([kind(draw.randrange(2), step, draw.uniform(0, 0.03)) for step in steps])
    return plans


def broken(folder: Path, plans: list[list[Moment]]) -> Iterator[History]:
    """Yields the history of each training, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        train = lambda n: faults.train(folder / str(n), plans[n], *OPTIONS, timeout=600)
        yield from pool.map(train, range(len(plans)))


def survived(history: History, unbroken: History) -> None:
    assert history.status == 0, history.errors
    assert faults.same(history, unbroken)
    assert history.attempts() == len(history.deaths) + 1


def test_losses_go_on_bit_for_bit_after_kills_at_random_moments(tmp_path: Path, unbroken: History) -> None:
    plans = kills(AtStep, KILLS, random.Random(1))
    deaths = 0
    for history in broken(tmp_path, plans):
        survived(history, unbroken)
        deaths += len(history.deaths)
    assert deaths == KILLS


def test_the_last_checkpoint_stays_when_a_worker_is_killed_while_one_is_written(
    tmp_path: Path, unbroken: History
) -> None:
    draw, inside, made = random.Random(2), 0, 0
    while inside < KILLS:
        for history in broken(tmp_path / str(made), kills(partial(WhileSaving), KILLS - inside, draw)):
            survived(history, unbroken)
            inside += sum(bool(death.unfinished) for death in history.deaths)
            made += len(history.deaths)
    print(f"{inside} of {made} kills fell into a save")


def test_a_run_that_is_not_the_same_is_told_from_one_that_is(tmp_path: Path, unbroken: History) -> None:
    other = faults.train(tmp_path, (), "--batch=7", *OPTIONS, timeout=300)
    assert other.status == 0, other.errors
    assert faults.same(unbroken, unbroken)
    assert not faults.same(other, unbroken)
