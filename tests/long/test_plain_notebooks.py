"""A plain notebook runs where the wheel beside it is installed, and the book's folder is nowhere on the path."""

from __future__ import annotations

from pathlib import Path

import pytest

from booktools.formats.plain_notebooks import write_language
from booktools.source.book import Book
from tests.conftest import ROOT
from tests.plain import check_shows, fresh_python, outputs

BOOK = Book(ROOT)
PAGE = "slow"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fresh_python(tmp_path_factory.mktemp("fresh"))


@pytest.mark.parametrize("language", BOOK.languages, ids=lambda language: language.code)
def test_it_runs_and_shows_what_it_records(language: object, python: Path, tmp_path: Path) -> None:
    write_language(BOOK, language, tmp_path)  # type: ignore[arg-type]
    check_shows(outputs(python, tmp_path / f"{PAGE}.ipynb"), f"{PAGE}.busy")
