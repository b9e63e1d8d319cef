"""Cells that are not rehearsed on a simulated GPU, because they use none, are rehearsed here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gpu.conftest import sources

# The package of rehearsals is on the path once the line above has been imported.
from rehearsal.execution import copy_of_the_book, rehearse, variables  # isort: skip
from rehearsal.left_out import NOT_REHEARSED, left_out  # isort: skip
from rehearsal.selection import from_a_gpu  # isort: skip


@pytest.mark.parametrize("page", NOT_REHEARSED)
def test_a_cell_that_is_not_rehearsed_uses_no_gpu(page: str, library: Path, lines: Path, tmp_path: Path) -> None:
    book, folder = copy_of_the_book(tmp_path / "book"), tmp_path / page
    found = rehearse(book, page, folder, variables(folder, lines, library, 1))
    cells = sources(page)
    print(f"{page}: cells that use a GPU: {sorted(found.using)}")
    assert not found.error
    assert not found.races
    assert len(found.seconds) == len(cells)
    assert not found.using & left_out(page, cells)
    assert from_a_gpu(cells, found.using, left_out(page, cells), NOT_REHEARSED[page].given) == set()
