"""Which PDFs and EPUBs go along with a site that is packed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from booktools.formats.archive import EPOCH
from booktools.formats.files import copy_current, path_of, write_file
from booktools.source.book import Book
from tests.conftest import ROOT


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    """A book of two pages with a made-up site, in which an English PDF and a Chinese EPUB were written."""
    monkeypatch.setenv(EPOCH, "1700000000")
    root = tmp_path / "book"
    (root / "_build" / "html" / "zh").mkdir(parents=True)
    shutil.copy(ROOT / "_config.yml", root)
    (root / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters: [{file: one}]\n", encoding="utf-8")
    book = Book(root)
    for language in book.languages:
        for name in book.pages:
            page = book.build / "html" / book.path_on_site(language, name)
            page.write_text(f"<nav>{name}</nav><article>{name}</article>", encoding="utf-8")
    write_file(book, book.languages[0], "pdf", b"%PDF")
    write_file(book, book.languages[1], "epub", b"PK")
    return book


def copies(book: Book, folder: Path) -> dict[str, bytes]:
    """Returns the files that go along."""
    folder.mkdir()
    return {path.name: path.read_bytes() for path in copy_current(book, folder)}


def test_a_file_is_named_by_title_and_language(book: Book) -> None:
    path = path_of(book, book.languages[1], "epub")
    assert path == book.build / "epub" / "computational-performance-for-deep-learning-zh.epub"


def test_what_was_made_of_the_site_that_is_packed_goes_along(book: Book, tmp_path: Path) -> None:
    title = "computational-performance-for-deep-learning"
    assert copies(book, tmp_path / "dist") == {f"{title}-en.pdf": b"%PDF", f"{title}-zh.epub": b"PK"}


def test_what_stands_around_the_text_of_a_page_makes_no_other_book(book: Book, tmp_path: Path) -> None:
    page = book.build / "html" / "one.html"
    page.write_text(page.read_text(encoding="utf-8").replace("<nav>one", "<nav>notebooks"), encoding="utf-8")
    assert len(copies(book, tmp_path / "dist")) == 2


@pytest.mark.parametrize("changed", ["text", "date"])
def test_what_was_made_of_another_site_stays_behind_and_is_named(
    book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], changed: str
) -> None:
    if changed == "text":
        (book.build / "html" / "one.html").write_text("<article>changed</article>", encoding="utf-8")
    else:
        monkeypatch.setenv(EPOCH, "1800000000")
    found = copies(book, tmp_path / "dist")
    assert not any(name.endswith(".pdf") for name in found)
    assert "learning-en.pdf, made of another site; make pdf makes it anew" in capsys.readouterr().out
