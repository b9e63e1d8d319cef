"""What is said of a record before it is published."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from booktools.commands import recording
from booktools.commands.record_check import check_record, report_on
from booktools.commands.recording import without_warnings
from booktools.executions import canary
from booktools.executions.execute import execute_all
from booktools.executions.prepare import waiting
from booktools.source.book import Book, BookError
from booktools.source.kernel import KEY
from booktools.source.page import pages_with_cells
from tests.conftest import copy_tiny_book, edit


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Book:
    book = copy_tiny_book(tmp_path_factory.mktemp("executed") / "book")
    execute_all(book, waiting(book))
    return book


@pytest.fixture
def recorded(executed: Book, tmp_path: Path) -> Book:
    """The tiny book with a whole record, ``mine``."""
    book = copy_tiny_book(tmp_path / "book")
    (book.records / "mine").mkdir(parents=True)
    for page in pages_with_cells(book):
        nbformat.write(without_warnings(executed.notebooks / f"{page}.ipynb"), book.records / "mine" / f"{page}.ipynb")
    return book


def test_a_whole_record_is_fit_to_send(recorded: Book, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_record(recorded, "mine") == 0
    said = capsys.readouterr().out
    assert "1 of 1 pages" in said
    assert "1 held" in said
    assert "no canary (recorded long ago, or by a kit whose canary failed): tiny" in said
    assert said.endswith("Complete, current, and nothing private was found. Send the folder records/mine.\n")


def test_a_page_that_is_missing_or_has_changed_is_named(recorded: Book, capsys: pytest.CaptureFixture[str]) -> None:
    edit(recorded.page("en", "tiny"), "1 + 2", "1 + 3")
    edit(recorded.page("zh", "tiny"), "1 + 2", "1 + 3")
    assert check_record(recorded, "mine") == 1
    assert "to mend: tiny: changed since it was recorded: cells" in capsys.readouterr().out
    (recorded.records / "mine" / "tiny.ipynb").unlink()
    with pytest.raises(BookError, match="records/mine: nothing is recorded there"):
        report_on(recorded, "mine")


def test_what_may_be_private_is_named_with_its_page(recorded: Book) -> None:
    path = recorded.records / "mine" / "tiny.ipynb"
    notebook = nbformat.read(path, as_version=4)
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    cell.outputs.append(nbformat.v4.new_output("stream", text="in /home/ada/book\n"))
    nbformat.write(notebook, path)
    assert report_on(recorded, "mine").wrong == ["tiny: it may be private: a folder of a user: /home/ada"]


def test_a_page_that_is_recorded_again_tells_of_its_last_execution(
    executed: Book, recorded: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(executed.notebooks, recorded.notebooks)
    path = recorded.notebooks / "tiny.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata[KEY]["environment"]["date"] = "1999-12-31"
    notebook.metadata[KEY]["seconds"] = -1.0
    nbformat.write(notebook, path)
    monkeypatch.setattr(canary, "ask", lambda timeout: {"step": 1.0})
    recording.record_machine(recorded, "mine")
    told = nbformat.read(recorded.records / "mine" / "tiny.ipynb", as_version=4).metadata[KEY]
    assert told["environment"]["date"] > "2000"
    assert told["seconds"] > 0


def test_a_name_that_no_record_has_is_answered_by_those_that_there_are(recorded: Book) -> None:
    with pytest.raises(BookError, match="records/yours: no such record; there are: mine"):
        report_on(recorded, "yours")


def test_a_page_during_which_the_machine_was_not_itself_is_named(recorded: Book) -> None:
    path = recorded.records / "mine" / "tiny.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata[KEY][canary.KEY] = {"before": {"step": 1.0}, "after": {"step": 2.0}, "stolen": None}
    nbformat.write(notebook, path)
    report = report_on(recorded, "mine")
    assert [line for line in report.said if "not itself, tiny: step" in line]
    assert report.wrong == []


def test_a_claim_that_fails_is_named_and_hinders_nothing(recorded: Book) -> None:
    edit(recorded.chapters / "claims" / "tiny.py", 'r["tiny.sum"].median > 0', "False")
    report = report_on(recorded, "mine")
    assert "  failed: tiny.positive" in report.said
    assert report.wrong == []
