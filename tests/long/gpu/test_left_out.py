"""Cells that are not rehearsed on one simulated GPU, or on two, are rehearsed here: the former use none, the latter do
the same on two."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gpu.conftest import PAGES, sources

# The package of rehearsals is on the path once the line above has been imported.
from rehearsal.execution import Rehearsal, copy_of_the_book, rehearse, variables  # isort: skip
from rehearsal.left_out import NOT_REHEARSED, left_out  # isort: skip
from rehearsal.selection import from_a_gpu, unlike_on_more  # isort: skip


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


@pytest.mark.parametrize("page", PAGES)
def test_what_is_left_out_with_two_gpus_does_there_as_on_one(
    page: str, library: Path, lines: Path, tmp_path: Path
) -> None:
    """It reaches no line for a GPU that neither the whole page on one does nor what is rehearsed on two."""
    book, cells = copy_of_the_book(tmp_path / "book"), sources(page)

    def rehearsed(name: str, devices: int, only: set[int] | None = None) -> Rehearsal:
        folder = tmp_path / name
        found = rehearse(book, page, folder, variables(folder, lines, library, devices), only)
        assert not found.error
        assert not found.races
        return found

    one, two = rehearsed("one", 1), rehearsed("two", 2)
    chosen = rehearsed("chosen", 2, unlike_on_more(cells, one.using, one.counting))
    print(f"{page}: left out with two: {sorted(two.seconds.keys() - chosen.seconds.keys())}")
    assert two.reached <= one.reached | chosen.reached
    assert two.using == one.using
