"""A page on paper: always light, whole, with heads and page numbers, nothing that is there to be pressed."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from pypdf import PdfReader

from booktools.book import Language
from tests.browser.conftest import counterpart, languages
from tests.browser.test_site import FIRST

PAPER = 657
"""CSS pixels: the width of the text on A4."""
TALL = 960
"""CSS pixels: more does not fit onto a page."""
PAGES = [counterpart(name, each) for each in languages() for name in ("parallel.html", "hardware.html")]
WIDEST = [counterpart(name, each) for each in languages() for name in ("async.html", "compilers.html", "machines.html")]

TOO_WIDE = """(paper) => [...document.querySelectorAll("article :is(p, pre, table, math, svg, figcaption, h1, h2, h3)")]
  .filter((each) => each.checkVisibility() && !each.closest(".dl-unseen"))
  .map((each) => [each.tagName, Math.round(each.getBoundingClientRect().right), each.textContent.trim().slice(0, 40)])
  .filter(([name, right]) => right > paper + 1)"""
CUT = """() => [...document.querySelectorAll("article :is(pre, .dl-table-box, .dl-figure, div.math)")]
  .filter((each) => each.checkVisibility() && getComputedStyle(each).overflow !== "visible")
  .map((each) => each.className)"""
HIDDEN = """() => [...document.querySelectorAll("details:not(.dl-data, .dl-here)")]
  .filter((each) => !each.lastElementChild.checkVisibility({ contentVisibilityAuto: true }) ||
    each.getBoundingClientRect().height < each.lastElementChild.scrollHeight).length"""


@pytest.fixture
def paper(browser: Browser, file_base: str) -> Iterator[Page]:
    """A page as it is printed, for a reader who has chosen dark colours."""
    context = browser.new_context(viewport={"width": PAPER, "height": 900}, locale=FIRST.html)
    context.add_init_script("localStorage.setItem('dl-mode', 'dark')")
    page = context.new_page()
    page.emulate_media(media="print", color_scheme="dark")
    yield page
    context.close()


def pdf(page: Page) -> PdfReader:
    return PdfReader(io.BytesIO(page.pdf(format="A4", print_background=False)))


@pytest.mark.parametrize("name", PAGES)
def test_is_light_and_shows_nothing_to_be_pressed(paper: Page, file_base: str, name: str) -> None:
    paper.goto(file_base + name)
    assert paper.evaluate("document.documentElement.dataset.mode") == "dark"
    ink, ground = paper.evaluate(
        "[getComputedStyle(document.querySelector('article p')).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert max(map(int, ink.removeprefix("rgb(").removesuffix(")").split(","))) < 64
    assert ground == "rgba(0, 0, 0, 0)"
    shown = paper.evaluate(
        "[...document.querySelectorAll('nav, button:not(.dl-choices *), input, .dl-side, .dl-copy, .headerlink')]"
        ".filter((each) => each.checkVisibility()).map((each) => each.className)"
    )
    assert shown == []


@pytest.mark.parametrize("name", PAGES)
def test_what_is_folded_is_open_but_the_data_of_figures(paper: Page, file_base: str, name: str) -> None:
    paper.goto(file_base + name)
    assert paper.locator("details.hide").count() > 10
    assert paper.evaluate(HIDDEN) == 0
    assert not any(each.is_visible() for each in paper.locator(".dl-data").all())
    paper.locator(".dl-data").first.evaluate("(data) => { data.open = true }")
    assert paper.locator(".dl-data table").first.is_visible()


@pytest.mark.parametrize("name", [*PAGES, *WIDEST])
def test_nothing_is_wider_than_the_paper_or_cut(paper: Page, file_base: str, name: str) -> None:
    paper.goto(file_base + name)
    assert paper.evaluate(TOO_WIDE, PAPER) == []
    assert paper.evaluate(CUT) == []
    tall = "[...document.querySelectorAll('figure')].map((each) => each.getBoundingClientRect().height)"
    assert max(paper.evaluate(tall), default=0) < TALL


def test_the_test_finds_what_is_too_wide(paper: Page, file_base: str) -> None:
    paper.goto(file_base + PAGES[0])
    paper.add_style_tag(content="article pre { white-space: pre; overflow: auto; width: 60rem; }")
    assert paper.evaluate(TOO_WIDE, PAPER)
    assert paper.evaluate(CUT)


@pytest.mark.parametrize("name", PAGES)
def test_solutions_stand_behind_the_exercises_in_order(paper: Page, file_base: str, name: str) -> None:
    paper.goto(file_base + name)
    tops = lambda selector: paper.locator(selector).evaluate_all(
        "(all) => all.map((each) => each.getBoundingClientRect().top)"
    )
    exercises, solutions = tops(".exercise"), tops(".dl-solution")
    assert len(exercises) == len(solutions) >= 6
    assert exercises + solutions == sorted(exercises + solutions)


@pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
def test_has_heads_page_numbers_fonts_and_whole_solutions(paper: Page, file_base: str, language: Language) -> None:
    paper.goto(file_base + counterpart("parallel.html", language))
    title, last = paper.locator("h1").inner_text().replace("§", ""), paper.locator("pre").last.inner_text()
    file = pdf(paper)
    text = lambda number: unicodedata.normalize("NFKC", squeezed(file.pages[number - 1].extract_text()))
    texts = {number: text(number) for number in (1, 2, len(file.pages))}  # fonts take some Han for radicals
    book = squeezed(paper.title().partition(" · ")[2])
    assert book not in texts[1]
    assert texts[2].startswith((squeezed(title) + book, book + squeezed(title)))
    assert all(f"{number}/{len(file.pages)}" in text for number, text in texts.items())
    code = squeezed(
        "".join(file.pages[number].extract_text() for number in range(len(file.pages) - 3, len(file.pages)))
    )
    assert squeezed(last.splitlines()[-1]) in code
    assert all(is_embedded(font) for page in file.pages for font in fonts(page))


def squeezed(text: str) -> str:
    return "".join(text.split())


def fonts(page: Any) -> list[Any]:
    """Returns the fonts of a page of a PDF."""
    return [each.get_object() for each in page["/Resources"].get("/Font", {}).values()]


def is_embedded(font: Any) -> bool:
    """Returns whether a font of a PDF has its shapes in the file."""
    if font["/Subtype"] == "/Type3":
        return bool(font["/CharProcs"])
    inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
    return bool({"/FontFile", "/FontFile2", "/FontFile3"} & set(inner["/FontDescriptor"]))


def test_the_address_of_a_link_can_be_read_and_followed(paper: Page, file_base: str) -> None:
    paper.goto(file_base + "references.html")
    paper.locator("article p").first.evaluate(
        """(p) => { p.innerHTML = '<a class="reference external" href="https://example.org/x">words</a>'; }"""
    )
    file = pdf(paper)
    text = squeezed("".join(page.extract_text() for page in file.pages))
    assert "words(https://example.org/x)" in text
    address = paper.locator(".citation a.external").first.get_attribute("href")
    assert text.count(squeezed(str(address).partition("//")[2])) <= 1
    followed = {
        note.get_object()["/A"].get("/URI")
        for page in file.pages
        for note in page.get("/Annots", [])
        if "/A" in note.get_object()
    }
    assert {"https://example.org/x", address} <= followed
