"""Lets ``pytest --nbmake notebooks`` find the chapters: pages are notebooks in another notation."""

from __future__ import annotations

from pathlib import Path

import pytest

from booktools.book import Book
from booktools.execute import pages_with_cells, prepare


def pytest_configure(config: pytest.Config) -> None:
    """Writes every page that is to be executed as a notebook; unchanged ones keep their outputs."""
    if config.getoption("nbmake", default=False):
        book = Book.find(Path(__file__).parent)
        for page in pages_with_cells(book):
            prepare(book, page)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fails a run of nbmake on the folder of all chapters that did not run all of them."""
    config = session.config
    if not config.getoption("nbmake", default=False) or [Path(arg).name for arg in config.args] != ["notebooks"]:
        return
    expected = len(pages_with_cells(Book.find(Path(__file__).parent)))
    if exitstatus == pytest.ExitCode.OK and session.testscollected != expected:
        config.get_terminal_writer().line(
            f"_toc.yml lists {expected} chapters with cells, {session.testscollected} ran"
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
