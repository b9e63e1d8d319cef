"""Every page on one simulated GPU and on two: its cells run, and nobody forgot to wait."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gpu.conftest import DEVICES, PAGES, Rehearsals

SEVERAL = "/dlperf/multigpu/"
"""Where lines for a GPU are for several of them: with one, they are neither reached nor wanted."""


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("page", PAGES)
def test_every_cell_runs_and_waits_for_what_it_reads(rehearsals: Rehearsals, page: str, devices: int) -> None:
    found = rehearsals(page, devices)
    if devices > 1 and not found.seconds:
        pytest.skip(f"no cell of {page} counts GPUs: it was rehearsed on one")
    slow = {i: round(s) for i, s in found.seconds.items() if s > 5}
    taken = sum(found.seconds.values())
    print(f"{page} on {devices}: {taken:.0f} s, {len(found.seconds)} cells; cells that took more than 5 s: {slow}")
    assert not found.error
    assert not found.races


@pytest.mark.parametrize("devices", DEVICES)
def test_lines_for_a_gpu_are_reached(rehearsals: Rehearsals, lines: Path, devices: int) -> None:
    found = {path: some for path, some in json.loads(lines.read_text()).items() if devices > 1 or SEVERAL not in path}
    wanted = {f"{path}:{line}" for path, some in found.items() for line in some}
    upto = range(1, devices + 1)  # what is not rehearsed on two does there as on one
    reached = {line for page in PAGES for number in upto for line in rehearsals(page, number).reached}
    if devices == 1:
        reached = {line for line in reached if SEVERAL not in line}
    missing = sorted(wanted - reached)
    share = 1 - len(missing) / len(wanted)
    print(f"{devices} GPU(s): {share:.1%} of {len(wanted)} lines reached; not:", *missing, sep="\n  ")
    assert reached <= wanted
    assert share >= 0.9
