"""Waits whose drills take long are deleted here; `tests/gpu/test_waits.py` deletes all others."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Run

# The package of rehearsals is on the path once the line above has been imported.
from tests.gpu.test_waits import DEAR, check_missed  # isort: skip


@pytest.mark.parametrize("key", sorted(DEAR))
def test_a_deleted_wait_is_missed(run: Run, key: str) -> None:
    check_missed(run, key)
