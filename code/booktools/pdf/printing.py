"""Printing a document by Chromium, twice: what stands on which page is known once it has been printed."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from booktools.book import BookError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
TIMES = 4
"""As often is the document printed at most, until its page numbers are those of its pages."""
WIDTH = 605
"""CSS pixels: the width of the text, as `book.css` has it."""
NARROWER = """() => {
  for (const table of document.querySelectorAll("article table")) {
    const room = table.parentElement.clientWidth, wide = table.scrollWidth;
    if (wide > room + 1) table.style.zoom = Math.floor(1000 * room / wide) / 1000;
  }
}"""
"""Makes a table that is too wide smaller as a whole."""
HEADINGS = """[...document.querySelectorAll("h1, h2, h3, h4")].map((heading) => heading.textContent.trim())"""
FILL = """(pages) => {
  for (const folio of document.querySelectorAll("a .dl-folio"))
    folio.textContent = pages[decodeURIComponent(folio.closest("a").hash.slice(1))] ?? "?";
}"""


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Yields a Chromium: one on the path, else one that Playwright has installed; BookError where there is none."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise BookError("the PDF is printed by Playwright, which is not installed: pip install '.[pdf]'") from None
    found = next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        except Error as error:
            raise BookError(
                "the PDF is printed by Chromium, and none could be started: install Chromium, "
                f"or run `python -m playwright install chromium`\n{error}"
            ) from None
        yield browser
        browser.close()


def printed(browser: Browser, path: Path) -> tuple[bytes, list[str]]:
    """Returns the document at ``path`` as a PDF with outline and tags, its page numbers filled in, and its headings."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 900})
    page.set_default_timeout(300_000)
    page.emulate_media(media="print", color_scheme="light")
    page.goto(path.as_uri())
    page.evaluate("document.fonts.ready")
    page.evaluate(NARROWER)
    pages: dict[str, int] = {}
    page.evaluate(FILL, pages)
    for _ in range(TIMES):
        data = _print(page)
        found = places(data)
        if found == pages:
            headings = page.evaluate(HEADINGS)
            page.close()
            return data, headings
        pages = found
        page.evaluate(FILL, pages)
    raise BookError(f"{path}: printed {TIMES} times, and its page numbers still move")


def _print(page: Page) -> bytes:
    return page.pdf(prefer_css_page_size=True, print_background=True, outline=True, tagged=True)


def places(data: bytes) -> dict[str, int]:
    """Returns the number of the page, counted from one, on which each target of a link within a PDF stands."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    return {
        name.removeprefix("/"): (reader.get_destination_page_number(place) or 0) + 1
        for name, place in reader.named_destinations.items()
    }
