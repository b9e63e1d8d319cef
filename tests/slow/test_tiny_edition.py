"""A page of two cells under clocks that see pauses, its lines noted, and an edition of it whose numbers came out odd.

`tests/long` does this to every page, with many seeds, and on a simulated GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from booktools.executions.executions import load_execution
from booktools.source.book import Book
from booktools.source.notebook import read_records
from tests.conftest import copy_tiny_book, edit_both
from tests.editions import MACHINE, add_records, assert_built, build_languages
from tests.gpu import conftest
from tests.odd import odd
from tests.pauses import clock
from tests.reached import lines
from tests.reached.unlike import UNLIKE, lines_of, missed

# The package of rehearsals is on the path once the lines above have been imported.
from rehearsal.execution import Rehearsal, rehearse, variables  # isort: skip

PAGE, SEED = "tiny", 3
SEES = 'import time\nassert time.perf_counter.__module__ == "tests.pauses.clock"'
"""A cell that fails where its clock sees no pauses."""


@dataclass(frozen=True)
class Executed:
    """What came of the page of a book, and the lines that it reached."""

    book: Book
    rehearsal: Rehearsal
    reached: dict[str, str]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Executed:
    assert conftest.ROOT
    folder = tmp_path_factory.mktemp("tiny")
    book = copy_tiny_book(folder / "book")
    edit_both(book, PAGE, "1 + 2", SEES)
    for_a_gpu, noted = folder / "for-a-gpu", folder / "noted"
    for_a_gpu.write_text("{}", encoding="ascii")
    noted.touch()
    given = clock.variables(SEED, lines.variables(noted, variables(folder, for_a_gpu, None, 0)))
    return Executed(book, rehearse(book, PAGE, folder, given), lines.read(noted))


def test_no_pause_stops_the_page(executed: Executed) -> None:
    assert executed.rehearsal.error == ""
    assert load_execution(executed.book, executed.rehearsal.notebook, PAGE).stale == ()
    measured = read_records(nbformat.read(executed.rehearsal.notebook, as_version=4), PAGE)
    assert min(measured["tiny.sum"]["value"].samples) > 0


def test_the_lines_that_it_reaches_are_noted(executed: Executed) -> None:
    cells = {text for place, text in executed.reached.items() if place.startswith("cell ")}
    assert {"total = sum(range(1000))", SEES.splitlines()[1]} <= cells
    assert any(place.startswith("dlperf/timing.py:") for place in executed.reached)


def test_a_line_that_a_short_execution_does_not_reach_is_named(executed: Executed) -> None:
    allowed = dict.fromkeys(lines_of(next(iter(UNLIKE))), "another in its place")
    more = {"dlperf/timing.py:0": "a line", **allowed}
    assert missed({**executed.reached, **more}, executed.reached) == {"dlperf/timing.py:0": "a line"}


def test_an_edition_of_odd_numbers_is_built(executed: Executed, tmp_path: Path) -> None:
    made = tmp_path / f"{PAGE}.ipynb"
    nbformat.write(odd(executed.rehearsal.notebook, SEED), made)
    add_records(executed.book, lambda page: made)
    assert_built(build_languages(executed.book, {"zh": ""}))
    assert (executed.book.build / "work" / MACHINE / "html" / "zh" / f"{PAGE}.html").is_file()
