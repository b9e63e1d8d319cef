"""As many faults as the book gives a figure for; the seed of each schedule is its name, and is shown where it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlperf.network import unavailable
from tests.slow.kvstore.test_faults import lose_nothing, lose_nothing_on_hosts

SEEDS, FAULTS = 10, 20
"""So many schedules, of so many faults each: 200 in all."""


@pytest.mark.skipif(bool(unavailable()), reason="this system makes no network namespaces")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_kills_pauses_and_cuts_lose_nothing_and_count_nothing_twice(seed: int, tmp_path: Path) -> None:
    lose_nothing_on_hosts(FAULTS, seed, tmp_path)


@pytest.mark.skipif(not unavailable(), reason="the same is done with cuts of links, too")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_kills_and_pauses_lose_nothing_and_count_nothing_twice(seed: int, tmp_path: Path) -> None:
    lose_nothing(FAULTS, seed, tmp_path)
