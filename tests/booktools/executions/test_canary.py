"""The canary: when a machine counts as itself, and what an execution of several pages keeps of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from booktools.executions import canary, execute
from booktools.executions.canary import best, slowest, unsettled
from booktools.executions.executions import Execution
from booktools.executions.records import Machine
from booktools.source.book import Book
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


def test_how_slow_a_page_was_is_told_by_its_slowest_clock_at_either_end() -> None:
    assert slowest(song(1.0, 1.3), QUIET) == pytest.approx(1.3)
    assert slowest(song(1.8, 1.0), QUIET) == pytest.approx(1.8)


def execution(metadata: dict[str, Any]) -> Execution:
    made = nbformat.v4.new_notebook()
    made.metadata[KEY] = {"environment": {}} | metadata
    return Execution.of(made)


def test_a_machine_tells_it_by_page_and_leaves_out_what_has_no_canary() -> None:
    songs = {"one": {canary.KEY: song(1.0, 1.5)}, "two": {canary.KEY: song(2.0, 2.0)}, "silent": {}}
    machine = Machine("some", {page: execution(metadata) for page, metadata in songs.items()})
    assert machine.slowdowns == pytest.approx({"one": 1.5, "two": 2.0})


@pytest.mark.parametrize(("pages", "asked"), [(1, 0), (2, 0), (3, 4)])
def test_of_several_pages_each_keeps_what_the_clocks_said_around_it(
    tiny: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int, asked: int
) -> None:
    """What was said after one page is what is said before the next."""
    told: list[dict[str, float]] = []

    def ask(timeout: float) -> dict[str, float]:
        told.append({"step": len(told) + 1.0})
        return told[-1]

    monkeypatch.setattr(canary, "ask", ask)
    monkeypatch.setattr(execute, "execute", lambda *args: None)
    paths = [tmp_path / f"{n}.ipynb" for n in range(pages)]
    for path in paths:
        nbformat.write(execution({}).notebook, path)
    execute.execute_all(tiny, [(path.stem, path) for path in paths])
    assert len(told) == asked
    kept = [nbformat.read(path, as_version=4).metadata[KEY].get(canary.KEY) for path in paths]
    ends = [song and (song["before"]["step"], song["after"]["step"]) for song in kept]
    assert ends == ([(1, 2), (2, 3), (3, 4)] if asked else [None] * pages)


def test_a_clock_is_the_median_of_blocks_after_some_that_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five blocks take a second each, as a first call does; then come two tenths, and now and then a pause."""
    now, calls = [0.0], iter([1.0] * 5 + [0.2, 0.2, 9.0, 0.2, 0.2] * 9)
    monkeypatch.setattr("booktools.executions.canary.time.perf_counter", lambda: now[0])

    def call() -> None:
        now[0] += next(calls)

    assert canary._seconds(call, times=1) == pytest.approx(0.2)


def test_stolen_seconds_come_from_the_first_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5 6 7 800 9 0\ncpu0 1\n", encoding="ascii")
    monkeypatch.setattr(canary, "STAT", tmp_path / "stat")
    assert canary.stolen() == 8
    monkeypatch.setattr(canary, "STAT", tmp_path / "none")
    assert canary.stolen() is None
