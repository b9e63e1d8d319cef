"""Some pages of the site as a PDF in each language, read back; the whole book is printed in `tests/long`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from matplotlib.font_manager import fontManager
from playwright.sync_api import Browser

from booktools.formats.archive import epoch
from booktools.formats.pdf import fonts
from booktools.formats.pdf.document import LISTED
from booktools.formats.pdf.making import compose, make_pdf
from booktools.formats.pdf.packing import pack
from booktools.formats.pdf.printing import open_document, page_numbers, print_settled
from booktools.formats.volume import Entry
from booktools.source.book import Book, Language
from tests.browser.conftest import ROOT, languages
from tests.printed import Printed, cut_off

PAGES = ["index", "concise", "glossary"]
"""A cover, drawings, code, formulas, exercises and a long list, on few pages."""
FOLIOS = """[...document.querySelectorAll("a:has(.dl-folio)")]
    .map((link) => [link.hash.slice(1), link.querySelector(".dl-folio").textContent])"""
"""Returns the page numbers in the contents and beside other links, each with the id to which the link leads."""
HAN = {font.name for font in fontManager.ttflist}
HAS_HAN = bool(HAN & set(fonts.HAN_SANS) and HAN & set(fonts.HAN_SERIF))


@dataclasses.dataclass(frozen=True)
class Made:
    """What was printed, the outline that it was to have, the file, and the page number beside each link to an id."""

    path: Path
    entries: list[Entry]
    file: Printed
    folios: list[tuple[str, str]]
    numbers: dict[str, int]


@pytest.fixture(scope="module", params=[pytest.param(each, id=each.code) for each in languages()])
def made(
    request: pytest.FixtureRequest, browser: Browser, site: Path, tmp_path_factory: pytest.TempPathFactory
) -> Made:
    """The pages as a PDF."""
    language: Language = request.param
    if language.html.startswith("zh") and not HAS_HAN:
        pytest.skip("no font here has Han characters (apt install fonts-noto-cjk)")
    book = Book(ROOT)
    vars(book)["pages"] = PAGES
    path, entries, facts = compose(book, language, site, tmp_path_factory.mktemp("pdf"))
    page = open_document(browser, path)
    data = print_settled(page)
    folios = page.evaluate(FOLIOS)
    page.close()
    file = Printed(pack(data, entries, facts, language.html, epoch(ROOT)))
    return Made(path, entries, file, folios, page_numbers(data))


def test_a_page_is_a_whole_file_the_same_twice(browser: Browser, site: Path) -> None:
    book = Book(ROOT)
    vars(book)["pages"] = PAGES[:1]
    data = make_pdf(browser, book, languages()[0], site)
    file = Printed(data)
    assert file.outline()
    assert (file.dead_links(), file.odd_sizes(), file.blank_pages()) == ([], [], [])
    assert make_pdf(browser, book, languages()[0], site) == data


def test_the_outline_has_every_chapter_and_section_on_its_page(made: Made) -> None:
    found = [(depth, title, made.file.number(place)) for depth, title, place in made.file.outline()]
    assert found == [(each.level, each.text, made.numbers[each.id]) for each in made.entries]
    assert sum(depth == 1 for depth, *_ in found) == len(PAGES) + 2  # the contents before them, the solutions after
    assert [page for *_, page in found] == sorted(page for *_, page in found)


def test_the_contents_and_links_to_solutions_say_the_page_to_which_they_lead(made: Made) -> None:
    assert {each.id for each in made.entries[1:] if each.level <= LISTED} <= {name for name, _ in made.folios}
    assert [(name, str(made.numbers[name])) for name, _ in made.folios] == [tuple(each) for each in made.folios]
    assert any("-solution-" in name for name, _ in made.folios)


def test_links_lead_somewhere(made: Made) -> None:
    assert made.file.dead_links() == []


def test_every_font_is_in_the_file_and_whole(made: Made) -> None:
    assert made.file.fonts_not_embedded() == []


def test_no_page_is_blank_and_all_are_of_a_size(made: Made) -> None:
    assert made.file.blank_pages() == []
    assert made.file.odd_sizes() == []


def test_no_heading_is_alone_at_the_foot_of_a_page(made: Made) -> None:
    assert made.file.lonely_headings() == []


def test_nothing_is_cut_off_at_the_edge_of_a_page(made: Made, browser: Browser) -> None:
    assert cut_off(browser, made.path) == []


@pytest.mark.parametrize(
    "inner",
    [
        "<pre style='width: 2000px'>x</pre>",
        "<figure><svg style='width: 700px; height: 9px'></svg></figure>",
        "<figure><svg style='width: 9px; height: 1200px'></svg></figure>",
    ],
)
def test_what_would_be_cut_off_is_found(browser: Browser, tmp_path: Path, inner: str) -> None:
    path = tmp_path / "book.html"
    path.write_text(f"<!DOCTYPE html><article>{inner}</article>", encoding="utf-8")
    assert len(cut_off(browser, path)) == 1
