"""A wait that somebody deletes is missed: by a race, by wrong numbers, or by a clock."""

from __future__ import annotations

from collections import defaultdict

import pytest
from rehearsal.waits import Wait, waits

from tests.gpu.conftest import Run
from tests.gpu.drills import DRILLS, UNSEEN, drill

ALL: dict[str, list[Wait]] = defaultdict(list)
for _wait in waits():
    ALL[_wait.key].append(_wait)


@pytest.mark.parametrize("module", DRILLS)
def test_a_drill_passes_with_all_waits(run: Run, module: str) -> None:
    assert not run(drill(module))


DEAR = {
    "profiles: synchronize(device)",
    "compilers/price: synchronize(device)",
    "multigpu/tracing: synchronize(self.device)",
}
"""Waits whose drills take ten seconds and more, without them too: `tests/long/gpu` deletes these."""


@pytest.mark.parametrize("key", [key for key in ALL if key not in DEAR])
def test_a_deleted_wait_is_missed(run: Run, key: str) -> None:
    check_missed(run, key)


def check_missed(run: Run, key: str) -> None:
    """Fails where the drill of a wait passes without it, unless `UNSEEN` says so."""
    seen = [run(drill(wait.file), (wait.file, wait.number)) for wait in ALL[key]]
    print(key, [said.strip().splitlines()[-1] if said else "not missed" for said in seen])
    assert all(seen) == (key not in UNSEEN)


def test_what_is_said_not_to_be_missed_exists() -> None:
    assert UNSEEN.keys() | DEAR <= ALL.keys()
    assert all(wait.file in DRILLS for some in ALL.values() for wait in some)
