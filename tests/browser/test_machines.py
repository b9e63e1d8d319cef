"""The whole book as machines that nobody has would show it: their names are names, and all else is Chinese."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from booktools.book import Book
from tests.browser.test_site import NAMES, WALKER
from tests.conftest import ROOT, build
from tests.machines import add_machines, copy_book, current_record

SHOWN = ("quux", "frobnicator")
PAGES = [page for page in Book(ROOT).pages if page not in ("glossary", "references")]


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a made-up machine with GPUs, beside all others; its executions are those of a real record."""
    book = copy_book(ROOT, tmp_path_factory.mktemp("made-up"))
    add_machines(book, current_record(Book(ROOT)), SHOWN)
    done = build(book, "-q", MACHINE="frobnicator")
    assert done.returncode == 0, done.stdout
    return book.build / "html"


@pytest.mark.parametrize("page", PAGES)
def test_chinese_pages_of_any_machine_show_only_chinese(edition: Path, browser: Browser, page: str) -> None:
    tab = browser.new_page()
    tab.goto((edition / "zh" / f"{page}.html").as_uri())
    assert tab.evaluate(WALKER, NAMES) == []
    tab.close()


def test_the_machines_are_shown(edition: Path) -> None:
    shown = (edition / "zh" / "machines.html").read_text(encoding="utf-8")
    assert all(f'translate="no">{name}<' in shown for name in SHOWN)
