"""The whole book as PDF and EPUB in each language, of the site of fixed executions: read back, checked, made twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from booktools.formats.epub.making import make_epub
from booktools.formats.pdf.making import compose, make_pdf
from booktools.formats.pdf.printing import chromium
from booktools.source.book import Book, Language
from tests import sites
from tests.conftest import ROOT
from tests.epubs import check_structure, complaints, epubcheck
from tests.printed import Printed, cut_off

BOOK = Book(ROOT)


@pytest.fixture(scope="module")
def site() -> Path:
    """The folder of the site on which every claim held."""
    return sites.site("held")


@pytest.fixture(params=[pytest.param(each, id=each.code) for each in BOOK.languages])
def language(request: pytest.FixtureRequest) -> Language:
    """Each language."""
    return request.param


def printed_twice(language: Language, site: Path) -> bytes:
    """Returns the book as a PDF, after making it twice, each time by a browser of its own."""
    with chromium() as browser:
        first = make_pdf(browser, BOOK, language, site)
    with chromium() as browser:
        assert make_pdf(browser, BOOK, language, site) == first
    return first


def test_the_pdf_is_whole_and_the_same_twice(language: Language, site: Path, tmp_path: Path) -> None:
    file = Printed(printed_twice(language, site))
    chapters = [title for depth, title, _ in file.outline() if depth == 1]
    assert len(chapters) == len(BOOK.pages) + 2  # the contents before them, the solutions after
    pages = [file.number(place) for *_, place in file.outline()]
    assert pages == sorted(pages)
    assert file.dead_links() == []
    assert file.fonts_not_embedded() == []
    assert file.blank_pages() == []
    assert file.odd_sizes() == []
    assert file.lonely_headings() == []
    with chromium() as browser:
        assert cut_off(browser, compose(BOOK, language, site, tmp_path)[0]) == []


def test_the_epub_is_whole_and_the_same_twice(language: Language, site: Path) -> None:
    data = make_epub(BOOK, language, site)
    check_structure(data)
    assert make_epub(BOOK, language, site) == data


def test_epubcheck_has_no_complaint(language: Language, site: Path, tmp_path: Path) -> None:
    if not epubcheck():
        pytest.fail("epubcheck is not installed; on Debian: apt install epubcheck")
    path = tmp_path / "book.epub"
    path.write_bytes(make_epub(BOOK, language, site))
    assert complaints(path) == []
