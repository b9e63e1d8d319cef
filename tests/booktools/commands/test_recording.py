"""Recording: what it does about a machine that was not itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from booktools.commands import recording
from booktools.executions import canary, execute
from booktools.source.book import Book, BookError
from booktools.source.kernel import KEY
from tests.booktools.executions.test_canary import QUIET, song


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Returns a function that gives the canary its songs, in turn, and lists the pages that are executed."""

    def sing(*songs: dict[str, Any]) -> list[str]:
        given: Iterator[dict[str, Any]] = iter(songs)
        executed: list[str] = []

        def executes(book: Book, page: str, path: Path, prefix: str = "") -> None:
            executed.append(page)
            notebook = nbformat.read(path, as_version=4)
            notebook.metadata[KEY]["environment"] = {"cpu": "x"}
            nbformat.write(notebook, path)

        def watched(run: Callable[[], None], before: object) -> dict[str, Any]:
            run()
            return next(given) | {"stolen": None}

        monkeypatch.setattr(execute, "execute", executes)
        monkeypatch.setattr(canary, "watched", watched)
        return executed

    return sing


def kept(book: Book, name: str) -> dict[str, Any]:
    return nbformat.read(book.records / name / "tiny.ipynb", as_version=4).metadata[KEY][canary.KEY]  # type: ignore[no-any-return]


def test_a_quiet_page_is_executed_once_and_keeps_what_the_clocks_said(
    tiny: Book, heard: Callable[..., list[str]]
) -> None:
    executed = heard(song(1.0, 1.05))
    recording.record_machine(tiny, "quux")
    assert executed == ["tiny"]
    assert kept(tiny, "quux")["after"]["step"] == pytest.approx(1.05e-3)


def test_a_page_is_executed_again_until_the_machine_is_itself(tiny: Book, heard: Callable[..., list[str]]) -> None:
    executed = heard(song(1.0, 2.0), song(1.3, 1.0), song(1.0, 1.0))
    recording.record_machine(tiny, "quux")
    assert executed == ["tiny"] * 3
    assert kept(tiny, "quux")["before"] == QUIET


def test_what_never_was_itself_is_named_and_not_recorded(tiny: Book, heard: Callable[..., list[str]]) -> None:
    heard(song(1.0, 2.0), song(1.0, 2.0), song(1.0, 2.0))
    with pytest.raises(
        BookError, match=r"the machine was not itself; .*\ntiny: operator took 2 µs before and 4 µs after"
    ):
        recording.record_machine(tiny, "quux")
    assert not (tiny.records / "quux").exists()


def test_it_is_kept_anyway_if_asked_for_and_tells(
    tiny: Book, heard: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    heard(song(1.0, 2.0), song(1.0, 2.0), song(1.0, 2.0))
    recording.record_machine(tiny, "quux", anyway=True)
    assert "the machine was not itself, which the record tells:\ntiny: operator" in capsys.readouterr().out
    assert kept(tiny, "quux")["after"]["step"] == 2e-3


def test_pages_recorded_later_are_held_against_those_that_stay(tiny: Book, heard: Callable[..., list[str]]) -> None:
    heard(song())
    recording.record_machine(tiny, "quux")
    stays = tiny.records / "quux" / "tiny.ipynb"
    notebook = nbformat.read(stays, as_version=4)
    songs = recording._songs(tiny, "quux", ["another"])
    assert songs == [notebook.metadata[KEY][canary.KEY]]
    assert recording._restless({"another": song(1.2, 1.2)}, songs).keys() == {"another"}
    assert recording._songs(tiny, "quux", ["tiny"]) == [], "the page that is executed again does not count"


def test_a_page_without_cells_is_refused_before_anything_runs(tiny: Book, heard: Callable[..., list[str]]) -> None:
    executed = heard()
    with pytest.raises(BookError, match="machines: no page with cells; there are tiny"):
        recording.record_machine(tiny, "quux", ["machines"])
    assert executed == []
