"""How mbw is asked; what a real one answers is tested in `tests/long`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlperf.hardware import reference_tools
from tests import faked

LINES = "\n".join(
    f"{run}\tMethod: {method}\tElapsed: 0.00841\tMiB: 8.00000\tCopy: 1000.000 MiB/s"
    for method in ("MEMCPY", "DUMB", "MCBLOCK")
    for run in range(2)
)


def test_mbw_runs_the_tests_that_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = faked.command("mbw", LINES, tmp_path, monkeypatch)
    assert reference_tools.mbw(8, 2, (0, 1, 2)) == dict.fromkeys(("loop", "memcpy", "block"), [1000 * 2.0**20] * 2)
    (call,) = map(json.loads, log.read_text().splitlines())
    assert call == ["-q", "-a", "-n", "2", "-t0", "-t1", "-t2", "8"]
