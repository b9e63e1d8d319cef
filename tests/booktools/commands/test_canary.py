"""The canary: when a machine counts as itself, and what a record does about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from booktools.commands import canary, recording
from booktools.commands.canary import best, unsettled
from booktools.source.book import Book, BookError
from booktools.source.kernel import KEY

QUIET = {"operator": 2e-6, "step": 1e-3}


def song(before: float = 1.0, after: float = 1.0) -> dict[str, Any]:
    """Returns clocks that show so many times the quiet seconds at each end."""
    return {
        "before": {name: before * seconds for name, seconds in QUIET.items()},
        "after": {name: after * seconds for name, seconds in QUIET.items()},
    }


def test_the_best_is_the_shortest_of_both_ends_of_all() -> None:
    assert best([song(1.0, 1.3), song(2.0, 0.9)]) == {name: 0.9 * seconds for name, seconds in QUIET.items()}


@pytest.mark.parametrize(
    ("heard", "why"),
    [
        (song(1.0, 1.09), []),
        (song(1.0, 1.2), ["operator took 2 µs before and 2 µs after", "step took 1000 µs before and 1200 µs after"]),
        (song(1.2, 1.0), ["operator took 2 µs before and 2 µs after", "step took 1200 µs before and 1000 µs after"]),
        (song(1.2, 1.2), ["operator took 2 µs, and 2 µs at this machine's best", "step took 1200 µs, and 1000 µs at"]),
    ],
)
def test_a_page_is_held_against_its_other_end_and_the_best(heard: dict[str, Any], why: list[str]) -> None:
    found = unsettled(heard, QUIET)
    assert len(found) == len(why)
    assert all(each.startswith(start) for each, start in zip(found, why, strict=True))


def test_a_clock_is_the_median_of_blocks_after_some_that_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five blocks take a second each, as a first call does; then come two tenths, and now and then a pause."""
    now, calls = [0.0], iter([1.0] * 5 + [0.2, 0.2, 9.0, 0.2, 0.2] * 9)
    monkeypatch.setattr("booktools.commands.canary.time.perf_counter", lambda: now[0])

    def call() -> None:
        now[0] += next(calls)

    assert canary._seconds(call, times=1) == pytest.approx(0.2)


def test_stolen_seconds_come_from_the_first_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5 6 7 800 9 0\ncpu0 1\n", encoding="ascii")
    monkeypatch.setattr(canary, "STAT", tmp_path / "stat")
    assert canary.stolen() == 8
    monkeypatch.setattr(canary, "STAT", tmp_path / "none")
    assert canary.stolen() is None


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Returns a function that gives the canary its songs, in turn, and lists the pages that are executed."""

    def sing(*songs: dict[str, Any]) -> list[str]:
        given: Iterator[dict[str, Any]] = iter(songs)
        executed: list[str] = []

        def execute(book: Book, page: str, path: Path, prefix: str = "") -> None:
            executed.append(page)
            notebook = nbformat.read(path, as_version=4)
            notebook.metadata[KEY]["environment"] = {"cpu": "x"}
            nbformat.write(notebook, path)

        def watched(run: Callable[[], None]) -> dict[str, Any]:
            run()
            return next(given) | {"stolen": None}

        monkeypatch.setattr(recording, "execute", execute)
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
