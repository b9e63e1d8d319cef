"""Lets ``pytest --nbmake notebooks`` find the chapters: pages are notebooks in another notation.

``pytest --nbmake notebooks-short`` executes them in short, as `make test` does (`booktools.executions.short`).
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient
from nbmake import nb_run
from tqdm import tqdm

from booktools.executions import short
from booktools.executions.executions import expected_seconds
from booktools.executions.prepare import prepare
from booktools.source.book import Book, BookError
from booktools.source.kernel import TIMEOUTS
from booktools.source.page import pages_with_cells
from booktools.source.short_flag import is_short
from dlperf.budget import VARIABLE

BOOK = Book(Path(__file__).resolve().parent)
FOLDERS = ("notebooks", "notebooks-short")
COLLECTED = pytest.StashKey[int]()


def runs_notebooks(config: pytest.Config) -> bool:
    """Returns whether nbmake is asked to execute notebooks."""
    return bool(config.getoption("nbmake", default=False))


def is_worker(config: pytest.Config) -> bool:
    """Returns whether this is one of several processes that another one gives its tests to."""
    return hasattr(config, "workerinput")


def workers(config: pytest.Config) -> int:
    """Returns how many processes the tests are given to; 1 where there is only this one."""
    given = getattr(config, "workerinput", {"workercount": config.getoption("numprocesses", default=None)})
    return int(given["workercount"] or 1)


def pytest_configure(config: pytest.Config) -> None:
    """Writes every page that is to be executed as a notebook; unchanged ones keep their outputs."""
    if not runs_notebooks(config):
        return
    nb_run.NotebookClient = partial(NotebookClient, **TIMEOUTS)  # nbmake's has no option for it
    if is_worker(config):
        return
    if any(FOLDERS[1] in Path(arg.partition("::")[0]).parts for arg in config.args):
        os.environ.update(short.variables(BOOK.build / "short"))
    os.environ.setdefault(VARIABLE, str(config.getoption("nbmake_timeout") or BOOK.timeout))
    try:
        for page in pages_with_cells(BOOK):
            prepare(BOOK, page)
    except BookError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begins with the chapters that take longest; says how long each took in full on a recorded machine."""
    if not runs_notebooks(config):
        return
    seconds = {item: expected_seconds(BOOK, item.path.stem) or 0.0 for item in items}
    if is_short():
        order = short.longest_first((item.path.stem for item in items), workers(config))
        items.sort(key=lambda item: order.index(item.path.stem))
    else:
        items.sort(key=lambda item: -seconds[item])
    for number, item in enumerate(items, 1):
        about = "" if is_short() else f" (about {tqdm.format_interval(seconds[item])})"
        config.get_terminal_writer().line(
            f"to execute: [{number}/{len(items)}] {item.path.name}{about if seconds[item] else ''}"
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Counts for a run that has workers what they collected."""
    node.config.stash[COLLECTED] = len(ids)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fails a run of nbmake on the folder of all chapters that did not run all of them."""
    config = session.config
    if (
        not runs_notebooks(config)
        or is_worker(config)
        or [Path(arg).name for arg in config.args] not in ([folder] for folder in FOLDERS)
    ):
        return
    expected, ran = len(pages_with_cells(BOOK)), config.stash.get(COLLECTED, session.testscollected)
    if exitstatus == pytest.ExitCode.OK and ran != expected:
        config.get_terminal_writer().line(f"_toc.yml lists {expected} chapters with cells, {ran} ran")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
