"""The built site, served under a sub-path and as files, and one Chromium for all tests.

``BOOK_SITE`` names the site, `_build/html` of this repository by default.
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Error, Playwright, sync_playwright

from booktools.book import Language

ROOT = Path(__file__).resolve().parents[2]
SUB_PATH = "/some/sub/path/"
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def site_folder() -> Path:
    """Returns the site under test."""
    return Path(os.environ.get("BOOK_SITE") or ROOT / "_build" / "html").resolve()


def languages() -> list[Language]:
    """Returns the languages that `_config.yml` lists, the one at the root first."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return [Language(**entry) for entry in config["sphinx"]["config"]["booktools_languages"]]


def pages() -> list[str]:
    """Returns the paths of all pages of all languages, relative to the site; without a site those that must be
    there, so that tests fail for the lack of it and none is left out."""
    _, *others = languages()
    return sorted(path.relative_to(site_folder()).as_posix() for path in site_folder().rglob("*.html")) or [
        "index.html",
        *(f"{other.code}/index.html" for other in others),
    ]


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
def site() -> Path:
    """The folder of the built site."""
    folder = site_folder()
    if not (folder / "index.html").is_file():
        pytest.fail(f"{folder}: there is no site; build it (make book), or name another by BOOK_SITE", pytrace=False)
    return folder


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site under the sub-path and nothing elsewhere."""

    def translate_path(self, path: str) -> str:
        if not path.startswith(SUB_PATH):
            return os.path.join(self.directory, "outside-the-site")
        return super().translate_path(path[len(SUB_PATH) - 1 :])

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def http_base(site: Path) -> Iterator[str]:
    """The address of the site, under a sub-path."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}{SUB_PATH}"
    server.shutdown()


@pytest.fixture(scope="session")
def file_base(site: Path) -> str:
    """The address of the site as files."""
    return site.as_uri() + "/"


@pytest.fixture(scope="session", params=["http", "file"])
def base(request: pytest.FixtureRequest) -> str:
    """The address of the site, once each way."""
    return request.getfixturevalue(f"{request.param}_base")


def _launch(playwright: Playwright) -> Browser:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        return playwright.chromium.launch(executable_path=found, args=FLAGS)
    except Error as error:
        pytest.fail(
            f"no browser: install Chromium, or run `python -m playwright install chromium`\n{error}", pytrace=False
        )


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium with a fresh profile."""
    with sync_playwright() as playwright:
        chromium = _launch(playwright)
        yield chromium
        chromium.close()
