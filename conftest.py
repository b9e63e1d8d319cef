"""Lets ``pytest --nbmake notebooks`` find the chapters: pages are notebooks in another notation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tqdm import tqdm

from booktools.book import Book, BookError
from booktools.executions import expected_seconds
from booktools.page import pages_with_cells
from booktools.prepare import prepare
from dlperf.budget import VARIABLE

BOOK = Book(Path(__file__).resolve().parent)


def runs_notebooks(config: pytest.Config) -> bool:
    """Returns whether nbmake is asked to execute notebooks."""
    return bool(config.getoption("nbmake", default=False))


def pytest_configure(config: pytest.Config) -> None:
    """Writes every page that is to be executed as a notebook; unchanged ones keep their outputs."""
    if runs_notebooks(config):
        os.environ.setdefault(VARIABLE, str(config.getoption("nbmake_timeout") or BOOK.timeout))
        try:
            for page in pages_with_cells(BOOK):
                prepare(BOOK, page)
        except BookError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Says how many chapters there are to execute, and how long each took on a recorded machine."""
    if runs_notebooks(config):
        for number, item in enumerate(items, 1):
            seconds = expected_seconds(BOOK, item.path.stem)
            about = f" (about {tqdm.format_interval(seconds)})" if seconds else ""
            config.get_terminal_writer().line(f"to execute: [{number}/{len(items)}] {item.path.name}{about}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fails a run of nbmake on the folder of all chapters that did not run all of them."""
    config = session.config
    if not runs_notebooks(config) or [Path(arg).name for arg in config.args] != ["notebooks"]:
        return
    expected = len(pages_with_cells(BOOK))
    if exitstatus == pytest.ExitCode.OK and session.testscollected != expected:
        config.get_terminal_writer().line(
            f"_toc.yml lists {expected} chapters with cells, {session.testscollected} ran"
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
