"""Editions of records whose numbers came out odd: built in each language, every claim judged, without a warning."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from booktools.executions.executions import load_execution
from booktools.source.book import Book
from booktools.source.page import pages_with_cells
from tests.conftest import ROOT
from tests.editions import JUDGED, add_records, assert_built, build_languages
from tests.machines import copy_book
from tests.odd import odd

SEEDS = 10


def most_recent(book: Book) -> Path:
    """Returns the folder of the committed record that has every page, and of whose pages fewest have changed since."""
    pages = pages_with_cells(book)
    whole = lambda folder: all((folder / f"{page}.ipynb").is_file() for page in pages)
    changed = lambda folder: sum(bool(load_execution(book, folder / f"{page}.ipynb", page).stale) for page in pages)
    return min(filter(whole, sorted(book.records.iterdir())), key=changed)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_an_edition_of_odd_numbers_is_built(seed: int, tmp_path: Path) -> None:
    book = copy_book(ROOT, tmp_path)
    made, record = tmp_path / "made", most_recent(Book(ROOT))
    made.mkdir()
    for page in pages_with_cells(book):
        nbformat.write(odd(record / f"{page}.ipynb", seed), made / f"{page}.ipynb")
    add_records(book, lambda page: made / f"{page}.ipynb")
    assert_built(build_languages(book, JUDGED))
