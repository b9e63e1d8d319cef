"""Which executions the sites for tests are built of, and when they are built."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nbformat
import pytest

from booktools.executions.executions import load_execution, write_notebook
from booktools.executions.fingerprint import fingerprint
from booktools.executions.records import recorded_machines
from booktools.executions.short import MARK
from booktools.source.book import Book, BookError
from booktools.source.kernel import KEY
from booktools.source.notebook import code_cells
from booktools.source.page import source
from tests import sites
from tests.conftest import edit, edit_both

ENVIRONMENT = {"cpu": "Thingamajig", "cores": 1, "os": "Linux", "date": "2026-01-01"}
REMEDY = r"present cells of tiny, and notebooks-short/ .* in short \(make short\), or record a machine"


def execute(book: Book, folder: str, **changed: str) -> Path:
    """Writes an execution of the tiny page that printed nothing; ``changed`` are marks of modules that differ."""
    notebook = source(book, "tiny").notebook()
    for count, cell in enumerate(code_cells(notebook), 1):
        cell.execution_count = count
    now = fingerprint(book, source(book, "tiny"))
    now["modules"] = {**now["modules"], **changed}
    notebook.metadata[KEY] = {"fingerprint": now, "machine": ENVIRONMENT, "environment": ENVIRONMENT}
    if folder == sites.SHORT:
        notebook.metadata[KEY][MARK] = True
    path = book.root / folder / "tiny.ipynb"
    path.parent.mkdir(parents=True)
    write_notebook(notebook, path)
    return path


def test_of_two_records_of_the_present_cells_the_one_is_chosen_since_which_less_has_changed(tiny: Book) -> None:
    execute(tiny, "records/a", dlperf="old")
    less = execute(tiny, "records/b")
    execute(tiny, "notebooks-short")
    assert sites.executions(tiny) == {"tiny": less}


def test_a_record_of_a_gpu_comes_last_since_it_borrows(tiny: Book) -> None:
    gpu = execute(tiny, "records/a")
    notebook = nbformat.read(gpu, as_version=4)
    notebook.metadata[KEY]["environment"] = {**ENVIRONMENT, "accelerator": "cuda"}
    write_notebook(notebook, gpu)
    assert sites.executions(tiny) == {"tiny": gpu}
    cpu = execute(tiny, "records/b", dlperf="old")
    assert sites.executions(tiny) == {"tiny": cpu}


def test_a_stale_record_of_the_present_cells_is_as_good_as_any(tiny: Book) -> None:
    stale = execute(tiny, "records/a", dlperf="old")
    execute(tiny, "notebooks-short")
    assert sites.executions(tiny) == {"tiny": stale}
    sites.add_recorded(tiny, {"tiny": stale})
    *_, recorded = recorded_machines(tiny)
    assert (recorded.name, recorded.changed()) == (sites.RECORDED, ())


def test_a_short_execution_stands_in_where_no_record_has_the_present_cells(tiny: Book) -> None:
    execute(tiny, "records/a")
    edit_both(tiny, "tiny", "1 + 2", "1 + 3")
    with pytest.raises(BookError, match=REMEDY):
        sites.executions(tiny)
    short = execute(tiny, "notebooks-short")
    assert sites.executions(tiny) == {"tiny": short}


def test_an_execution_that_was_cut_off_is_none(tiny: Book) -> None:
    path = execute(tiny, "records/a")
    notebook = nbformat.read(path, as_version=4)
    code_cells(notebook)[-1].execution_count = None
    write_notebook(notebook, path)
    with pytest.raises(BookError, match=REMEDY):
        sites.executions(tiny)


def test_what_else_a_notebook_is_marked_as_stays_behind(tiny: Book) -> None:
    sites.add_recorded(tiny, {"tiny": execute(tiny, "notebooks-short")})
    done = load_execution(tiny, tiny.records / sites.RECORDED / "tiny.ipynb", "tiny")
    assert set(done.reading.mark) == {"fingerprint", "machine", "environment"}


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was built, as machine and outcome; the builds themselves are left out, and fail where a page says so."""
    done: list[tuple[str, str]] = []

    def build(book: Book, *_: str, MACHINE: str, BOOKTOOLS_OUTCOME: str) -> subprocess.CompletedProcess[str]:
        done.append((MACHINE, BOOKTOOLS_OUTCOME))
        assert {machine.name for machine in recorded_machines(book)} == {sites.RECORDED, *sites.MADE_UP}
        fails = "FAILS" in book.page("en", "tiny").read_text(encoding="utf-8")
        return subprocess.CompletedProcess([], int(fails), stdout="what the build said")

    monkeypatch.setattr(sites, "build", build)
    return done


def test_a_site_is_built_once_until_something_changes(tiny: Book, builds: list[tuple[str, str]]) -> None:
    execute(tiny, "records/a")
    folders = {sites.site(outcome, tiny.root) for outcome in ("held", "failed", "held", "failed")}
    assert len(folders) == 2
    assert all(folder.is_relative_to(tiny.root / "_build" / "sites") for folder in folders)
    assert builds == [(sites.SITES["held"], "held"), (sites.SITES["failed"], "failed")]
    edit(tiny.page("en", "tiny"), "The sum took", "Here the sum took")
    sites.site("held", tiny.root)
    sites.site("held", tiny.root)
    assert builds[2:] == [(sites.SITES["held"], "held")]


def test_a_build_that_fails_is_told_and_tried_again(tiny: Book, builds: list[tuple[str, str]]) -> None:
    execute(tiny, "records/a")
    page = tiny.page("en", "tiny")
    page.write_text(page.read_text(encoding="utf-8") + "\nFAILS\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(BookError, match=r"'held' could not be built:\nwhat the build said"):
            sites.site("held", tiny.root)
    assert len(builds) == 2


def test_a_record_more_that_is_not_chosen_changes_nothing(tiny: Book, builds: list[tuple[str, str]]) -> None:
    execute(tiny, "records/a")
    sites.site("held", tiny.root)
    execute(tiny, "records/b", dlperf="old")
    sites.site("held", tiny.root)
    assert len(builds) == 1
