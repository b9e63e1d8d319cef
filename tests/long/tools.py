"""The tools that the tests in this folder need: a machine without one fails them, and says how to get it."""

from __future__ import annotations

import shutil

import pytest


def require(tool: str) -> None:
    """Fails the test where a command is not installed: skipped each night, the comparison would never be made."""
    if shutil.which(tool) is None:
        pytest.fail(f"{tool} is not installed, and the tests in tests/long need it; on Debian: apt install {tool}")
