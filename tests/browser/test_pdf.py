"""The book as a PDF in each language, read: outline, contents, links, fonts, solutions, and nothing blank or cut."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from matplotlib.font_manager import fontManager
from playwright.sync_api import Browser
from pypdf import PageObject, PdfReader

from booktools.book import Book, Language
from booktools.edition import labels_of
from booktools.pdf import faces
from booktools.pdf.making import date_of, pdf, sourced
from booktools.pdf.packing import packed
from booktools.pdf.printing import NARROWER, WIDTH, printed
from tests.browser.conftest import ROOT, counterpart, languages
from tests.browser.test_print import TOO_WIDE, fonts, is_embedded, squeezed

BOOK = Book(ROOT)
TALL = 248 * 96 / 25.4
"""CSS pixels: more does not fit onto a page of A4 between its margins."""
LOWEST = 110
"""Points above the lower edge: a heading that begins lower would be alone on its page."""
HAS_HAN = bool({font.name for font in fontManager.ttflist} & set(faces.HAN_SANS))
LANGUAGES = [
    pytest.param(each, id=each.code, marks=pytest.mark.skipif(not HAS_HAN, reason="no font here has Han characters"))
    if each.html.startswith("zh")
    else pytest.param(each, id=each.code, marks=[pytest.mark.thorough] * HAS_HAN)  # one file takes minutes
    for each in languages()
]
pytestmark = pytest.mark.parametrize("language", LANGUAGES)


class File:
    """The PDF in one language, with what its tests ask of it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.reader = PdfReader(io.BytesIO(data), strict=True)
        self.pages = list(self.reader.pages)
        self.text: Callable[[int], str] = cache(lambda number: squeezed(self.pages[number - 1].extract_text()))

    def number(self, place: Any) -> int:
        """Returns the number of the page to which an entry of the outline or a link leads, counted from one."""
        return (self.reader.get_destination_page_number(place) or 0) + 1

    def outline(self) -> list[tuple[int, str, Any]]:
        """Returns the outline: depth, title, and where it leads."""

        def walk(entries: list[Any], depth: int) -> Iterator[tuple[int, str, Any]]:
            for entry in entries:
                if isinstance(entry, list):
                    yield from walk(entry, depth + 1)
                else:
                    yield depth, str(entry.title), entry

        return list(walk(self.reader.outline, 0))

    def links(self) -> Iterator[tuple[int, Any]]:
        """Yields the links, each with the number of its page."""
        for number, page in enumerate(self.pages, 1):
            for note in page.get("/Annots", []):
                if (found := note.get_object())["/Subtype"] == "/Link":
                    yield number, found


@pytest.fixture(scope="module")
def made(browser: Browser, site: Path) -> Callable[[Language], File]:
    """Makes the PDF in a language, once for all tests."""
    return cache(lambda language: File(pdf(browser, BOOK, language, site)))


@cache
def page(site: Path, language: Language, name: str) -> BeautifulSoup:
    path = site / counterpart(f"{name}.html", language)
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def headings(soup: BeautifulSoup, name: str) -> list[str]:
    for link in soup.select(".headerlink"):
        link.decompose()
    return [each.get_text().strip() for each in soup.select(f"article {name}")]


def test_the_outline_is_the_table_of_contents(made: Any, site: Path, language: Language) -> None:
    say = labels_of(BOOK, language).translate
    outline = made(language).outline()
    pages = [page(site, language, name) for name in BOOK.pages]
    assert [title for depth, title, _ in outline if depth == 0] == [
        *(title for soup in pages for title in headings(soup, "h1")),
        say("Solutions"),
    ]
    chapters = [*(headings(soup, "h1")[0] for soup in pages if soup.select(".dl-solution"))]
    assert [title for depth, title, _ in outline if depth == 1] == [
        say("Contents"),
        *(title for soup in pages for title in headings(soup, "h2")),
        *chapters,
    ]


def test_every_chapter_and_section_is_where_outline_and_contents_say(made: Any, language: Language) -> None:
    file = made(language)
    entries = [(title, file.number(place)) for depth, title, place in file.outline() if depth < 2]
    first = entries[1][1]
    until = next(number for title, number in entries[2:])
    said = "".join(file.text(number) for number in range(first, until))
    for title, number in entries[2:]:
        assert f"{squeezed(title)}{number}" in said
    for title, number in entries[::5]:
        assert squeezed(title) in file.text(number)


def test_a_page_has_its_chapter_at_its_head_and_its_number_at_its_foot(made: Any, language: Language) -> None:
    file = made(language)
    chapters = [(title, file.number(place)) for depth, title, place in file.outline() if depth == 0]
    book = squeezed(chapters[0][0])
    for title, number in chapters[1:]:
        text = file.text(number)
        heads = (squeezed(title) + book, book + squeezed(title))
        assert any(head in text for head in heads)
        foot = str(number)  # which stands where it is, or in the file's order behind the heads
        assert foot in (text[: len(foot)], text[-len(foot) :]) or any(text.startswith(head + foot) for head in heads)
    assert not re.search(r"\d$", file.text(1)[-3:])


def test_no_heading_is_alone_at_the_foot_of_a_page(made: Any, language: Language) -> None:
    assert [(title, place.top) for _, title, place in made(language).outline() if place.top < LOWEST] == []


def test_links_lead_somewhere(made: Any, language: Language) -> None:
    file = made(language)
    inner = [str(link["/Dest"]) for _, link in file.links() if "/Dest" in link]
    outer = [str(link["/A"]["/URI"]) for _, link in file.links() if "/A" in link]
    assert len(inner) > 500
    assert len(outer) > 50
    assert set(inner) <= set(file.reader.named_destinations)
    assert all(address.startswith(("https://", "http://")) for address in outer)


def test_solutions_stand_at_the_end_and_are_linked_both_ways(made: Any, site: Path, language: Language) -> None:
    file = made(language)
    exercises = sum(len(page(site, language, name).select(".exercise")) for name in BOOK.pages)
    places = file.reader.named_destinations
    begin = file.number(next(place for depth, _, place in reversed(file.outline()) if depth == 0))
    ways = [(number, file.number(places[str(link["/Dest"])])) for number, link in file.links() if "/Dest" in link]
    targets = {
        str(link["/Dest"])
        for number, link in file.links()
        if "/Dest" in link and re.search(r"-solution-\d+$", link["/Dest"])
    }
    assert exercises > 50
    assert len(targets) == exercises
    assert all(file.number(places[name]) >= begin for name in targets)
    assert sum(number >= begin > to for number, to in ways) >= exercises
    assert sum(number < begin <= to for number, to in ways) >= exercises


def test_every_font_is_in_the_file(made: Any, language: Language) -> None:
    found = {font.get("/BaseFont"): font for page in made(language).pages for font in fonts(page)}
    assert all(is_embedded(font) for font in found.values())
    names = " ".join(map(str, found))
    assert "STIXGeneral" in names if not language.html.startswith("zh") else "Mono" in names
    shapes = {
        font.get("/FontDescriptor", {}).get("/FontName") for font in found.values() if font["/Subtype"] == "/Type3"
    }
    assert all("BookMath" in str(name) for name in shapes)  # others would be Han, in hundreds of pieces


def runs(page: PageObject) -> int:
    """Returns how many pieces of text and drawings a page has."""
    data = page.get_contents().get_data()  # type: ignore[union-attr]
    return len(re.findall(rb"\b(?:Tj|TJ|Do|f|S)\b", data))


def test_no_page_is_blank(made: Any, language: Language) -> None:
    file = made(language)
    assert len(file.pages) > 200
    assert {tuple(map(round, page.mediabox[2:])) for page in file.pages} == {(595, 842)}
    assert [number for number, page in enumerate(file.pages, 1) if runs(page) < 8] == []


def test_nothing_is_too_wide_or_too_tall_for_a_page(
    browser: Browser, site: Path, tmp_path: Path, language: Language
) -> None:
    path = tmp_path / "book.html"
    path.write_text(sourced(BOOK, language, site)[0], encoding="utf-8")
    paper = browser.new_page(viewport={"width": WIDTH, "height": 900})
    paper.emulate_media(media="print", color_scheme="dark")
    paper.goto(path.as_uri())
    paper.evaluate(NARROWER)
    assert paper.evaluate(TOO_WIDE, WIDTH) == []
    tall = "[...document.querySelectorAll('figure')].map((each) => each.getBoundingClientRect().height)"
    assert max(paper.evaluate(tall)) < TALL
    assert paper.evaluate("[...document.querySelectorAll('article details, .headerlink, nav button')].length") == 0
    assert paper.evaluate("getComputedStyle(document.querySelector('article p')).color") == "rgb(28, 34, 36)"
    paper.close()


def test_the_file_says_what_it_is(made: Any, language: Language) -> None:
    reader = made(language).reader
    say = labels_of(BOOK, language).translate
    assert reader.metadata.title == say(BOOK.config["title"])
    assert reader.metadata.author == say(BOOK.config["author"])
    assert reader.metadata.creation_date == date_of(BOOK)
    root = reader.trailer["/Root"]
    assert root["/Lang"] == language.html
    assert root["/MarkInfo"]["/Marked"]
    assert len(made(language).data) < 10_000_000


def test_the_same_pages_make_the_same_file(browser: Browser, tmp_path: Path, language: Language) -> None:
    path = tmp_path / "book.html"
    text = "".join(f"<h2 id='h{n}'>书 {n}</h2><p><a href='#h{n + 1}'>n</a></p>" for n in range(40))
    path.write_text(
        f'<html lang="{language.html}"><meta charset="utf-8"><title>T</title>{text}</html>', encoding="utf-8"
    )
    date = date_of(BOOK)
    first, _ = printed(browser, path)
    time.sleep(1.1)
    second, _ = printed(browser, path)
    assert first != second
    assert packed(first, {}, date) == packed(second, {}, date)
