"""`make long PART=2/4` runs the second of four parts: what takes too long for one machine, four do side by side."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.parts import part_of


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what other parts run; UsageError if there is no such part."""
    long = [item for item in items if Path(__file__).parent in item.path.parents]
    try:
        mine = set(part_of(long, os.environ.get("PART", "")))
    except ValueError as wrong:
        raise pytest.UsageError(str(wrong)) from None
    config.hook.pytest_deselected(items=[item for item in long if item not in mine])
    items[:] = [item for item in items if item in mine or item not in long]
