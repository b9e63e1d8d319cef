"""The whole book can be read with every claim held, every claim failed, and none run that needs something."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from booktools.book import Book
from tests.conftest import ROOT, build
from tests.machines import copy_book, current_record


@pytest.mark.parametrize("outcome", ["held", "failed", "not-run"])
def test_each_outcome_of_every_text_is_rendered(tmp_path: Path, outcome: str) -> None:
    book = copy_book(ROOT, tmp_path)
    machine = current_record(Book(ROOT)).name
    shutil.copytree(ROOT / "records", book.records)
    done = build(book, MACHINE=machine, BOOKTOOLS_OUTCOME=outcome)
    assert done.returncode == 0, done.stdout
    pages = [path.read_text(encoding="utf-8") for path in (book.build / "html").rglob("*.html")]
    assert len(pages) > 10
    assert not [page for page in pages if "outcome=" in page]
