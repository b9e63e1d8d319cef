"""The sites under test, served under a sub-path and as files, and one Chromium for all tests of a process.

The sites are those of `tests.sites`: editions of the book made of fixed executions, the same on every machine.
"""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from booktools.formats.pdf.printing import chromium
from booktools.source.book import Book, BookError, Language
from tests import sites
from tests.conftest import ROOT

BOOK = Book(ROOT)
SUB_PATH = "/some/sub/path/"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
DEADLINE_MS = 180_000
"""How long the browser may take for anything: it only ends a hang."""
expect.set_options(timeout=DEADLINE_MS)

NewContext = Callable[..., BrowserContext]
SiteOf = Callable[[str], Path]


def languages() -> list[Language]:
    """Returns the languages of the book, the one at the root first."""
    return BOOK.languages


def pages() -> list[str]:
    """Returns the paths of all pages of all languages, relative to the site."""
    names = [f"{name}.html" for name in (*BOOK.pages, "search")]
    return [counterpart(name, language) for language in languages() for name in names]


def language_of(page: str) -> Language:
    """Returns the language that a page is in."""
    first, *others = languages()
    return next((each for each in others if page.startswith(each.code + "/")), first)


def counterpart(page: str, language: Language) -> str:
    """Returns the path of the same page in another language."""
    first, here = languages()[0], language_of(page)
    name = page if here == first else page.removeprefix(here.code + "/")
    return name if language == first else f"{language.code}/{name}"


@pytest.fixture(scope="session")
def site_of() -> SiteOf:
    """Returns the folder of the site in which texts have an outcome; it is built where it is not at hand."""

    @functools.cache
    def built(outcome: str) -> Path:
        try:
            return sites.site(outcome)
        except BookError as error:
            pytest.fail(str(error), pytrace=False)

    return built


@pytest.fixture(scope="session")
def site(site_of: SiteOf) -> Path:
    """The folder of the site on which every claim held."""
    return site_of("held")


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site under the sub-path and nothing elsewhere."""

    def translate_path(self, path: str) -> str:
        if not path.startswith(SUB_PATH):
            return os.path.join(self.directory, "outside-the-site")
        return super().translate_path(path[len(SUB_PATH) - 1 :])

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # A browser opens several connections at once, and no core may be free to accept them.


@pytest.fixture(scope="session")
def http_base(site: Path) -> Iterator[str]:
    """The address of the site, under a sub-path."""
    with _Server(("127.0.0.1", 0), functools.partial(_Handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}{SUB_PATH}"
        server.shutdown()


@pytest.fixture(scope="session")
def file_base(site: Path) -> str:
    """The address of the site as files."""
    return site.as_uri() + "/"


@pytest.fixture(params=["http", "file"])
def base(request: pytest.FixtureRequest) -> str:
    """The address of the site, once each way."""
    return request.getfixturevalue(f"{request.param}_base")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium with a fresh profile, as the PDF is printed by."""
    try:
        with chromium() as found:
            yield found
    except BookError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def new_context(browser: Browser) -> Iterator[NewContext]:
    """Makes readers who come for the first time; they are gone when the test ends, however it does.

    Their browser prefers the first language, and their window is wide, unless the options say otherwise.
    """
    made: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        context = browser.new_context(**{"viewport": WIDE, "locale": languages()[0].html, **options})
        made.append(context)
        context.set_default_timeout(DEADLINE_MS)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def tab(new_context: NewContext) -> Page:
    """A tab of such a reader."""
    return new_context().new_page()


def settle(page: Page) -> None:
    """Waits until nothing that is still to come can move what the page shows: formulas and fonts."""
    page.evaluate("async () => { await window.MathJax?.startup?.promise; await document.fonts.ready; }")
