"""The plain notebook of the tiny page runs where the wheel is installed; `tests/long` runs one of the book's pages."""

from __future__ import annotations

from pathlib import Path

from booktools.formats.plain_notebooks import write_language
from booktools.source.book import Book
from tests.plain import check_shows, fresh_python, outputs


def test_it_runs_and_shows_what_it_records(tiny: Book, tmp_path: Path) -> None:
    write_language(tiny, tiny.languages[1], tmp_path / "notebooks")
    check_shows(outputs(fresh_python(tmp_path), tmp_path / "notebooks" / "tiny.ipynb"), "tiny.sum")
