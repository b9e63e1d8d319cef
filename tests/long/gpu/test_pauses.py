"""Pages whose clocks see pauses, without a GPU and on a simulated one: no cell raises, and the editions are built.

What was faster then comes out slower, differences fall below zero, every spread is wide. Twenty seeds take hours.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dlperf.environment import cores
from tests.editions import JUDGED, add_records, assert_built, build_languages
from tests.gpu.conftest import PAGES
from tests.pauses import clock

# The package of rehearsals is on the path once the line above has been imported.
from rehearsal.execution import copy_of_the_book, rehearse, variables  # isort: skip

SEEDS = 20


@pytest.mark.parametrize("devices", [0, 1])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_pause_stops_a_page(library: Path, lines: Path, tmp_path: Path, seed: int, devices: int) -> None:
    book = copy_of_the_book(tmp_path / "book")

    def executed(page: str) -> str:
        folder = tmp_path / page
        folder.mkdir()
        given = variables(folder, lines, library if devices else None, devices)
        return rehearse(book, page, folder, clock.variables(seed, given)).error

    with ThreadPoolExecutor(cores()) as pool:
        errors = list(filter(None, pool.map(executed, PAGES)))
    assert errors == []
    add_records(book, lambda page: tmp_path / page / f"{page}.ipynb")
    assert_built(build_languages(book, JUDGED))
