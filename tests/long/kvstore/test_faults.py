"""As many kills, pauses and restarts as the book gives a figure for; the seed of each schedule is its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slow.kvstore.test_faults import lose_nothing


@pytest.mark.parametrize("seed", range(10))
def test_two_hundred_faults_lose_nothing_and_count_nothing_twice(seed: int, tmp_path: Path) -> None:
    lose_nothing(20, seed, tmp_path)
