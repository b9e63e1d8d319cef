"""Printing by Chromium, until what stands on which page is what the page numbers say."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pikepdf

from booktools.source.book import BookError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
TIMES = 4
"""As often is the book printed at most, until its page numbers stay."""
WIDTH = 605
"""CSS pixels: the width of the text on paper, as `book.css` has it."""
DEADLINE_MS = 600_000
"""How long Chromium may take for anything: it only ends a hang."""
_READY = "async () => { await window.MathJax?.startup?.promise; await document.fonts.ready; }"
_FIT = """() => {
  for (const each of document.querySelectorAll("article table, div.math > mjx-container")) {
    const room = each.parentElement.clientWidth, wide = each.scrollWidth;
    if (wide > room + 1) each.style.zoom = Math.floor(1000 * room / wide) / 1000;
  }
}"""
"""Makes a table or formula that is too wide smaller as a whole."""
_FILL = """(pages) => {
  for (const folio of document.querySelectorAll("a .dl-folio"))
    folio.textContent = pages[decodeURIComponent(folio.closest("a").hash.slice(1))] ?? "000";
}"""
"""Fills in page numbers; before they are known, something as wide."""


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Yields a Chromium: one on the path, else one that Playwright has installed; BookError where there is none."""
    from playwright.sync_api import Error, sync_playwright

    found = next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=FLAGS, timeout=DEADLINE_MS)
        except Error as error:
            raise BookError(
                "the PDF is printed by Chromium, and none could be started: install Chromium, "
                f"or run `python -m playwright install chromium`\n{error}"
            ) from None
        yield browser
        browser.close()


def open_document(browser: Browser, path: Path) -> Page:
    """Returns the document at ``path`` as it is to be printed: formulas set, fonts loaded, nothing too wide."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 900})
    page.set_default_timeout(DEADLINE_MS)
    page.emulate_media(media="print", color_scheme="light")
    page.goto(path.as_uri())
    page.evaluate(_READY)
    page.evaluate(_FIT)
    return page


def print_settled(page: Page) -> bytes:
    """Returns an open document as a PDF with its page numbers filled in; BookError where these never settle."""
    numbers: dict[str, int] = {}
    for _ in range(TIMES):
        page.evaluate(_FILL, numbers)
        data = page.pdf(prefer_css_page_size=True, print_background=True, tagged=True)
        found = page_numbers(data)
        if found == numbers:
            return data
        numbers = found
    raise BookError(f"{page.url}: printed {TIMES} times, and its page numbers still move")


def print_document(browser: Browser, path: Path) -> bytes:
    """Returns the document at ``path`` as a PDF, as `print_settled` makes it."""
    page = open_document(browser, path)
    try:
        return print_settled(page)
    finally:
        page.close()


def page_numbers(data: bytes) -> dict[str, int]:
    """Returns the number of the page, counted from one, on which each target of a link within a PDF stands."""
    with pikepdf.open(io.BytesIO(data)) as pdf:
        pages: dict[object, int] = {page.objgen: number for number, page in enumerate(pdf.pages, 1)}
        places = pdf.Root.get("/Dests", pikepdf.Dictionary())
        return {name.removeprefix("/"): pages[place[0].objgen] for name, place in places.items()}
