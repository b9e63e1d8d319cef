"""What a build says that it will do: as a plan with a total when it starts, and as each step begins."""

from __future__ import annotations

import pytest

from booktools.site import build as building
from booktools.site import plan
from booktools.site.plan import Plan
from booktools.source.book import Book, BookError

SECONDS = {"one": 100.0, "two": 600.0}


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pages have been recorded, on machines that took so long."""
    monkeypatch.setattr(plan, "expected_seconds", lambda book, page: SECONDS.get(page))


def test_it_has_a_total_and_a_line_for_each_step(tiny: Book) -> None:
    said = Plan(tiny, ["one", "two"]).text().splitlines()
    assert said[0] == "What follows, in about 15 minutes, or fewer where little has changed:"  # 700 s, and 150 s
    assert [line.partition(": ")[0] for line in said[1:]] == [
        "  1. checking the sources",
        "  2. executing 2 pages, one after another",
        "  3. writing the pages in English and 中文",
    ]
    assert "about 11:40, as long as the slowest recorded machine took" in said[2]


def test_pages_of_which_no_record_says_how_long_are_counted(tiny: Book) -> None:
    assert (
        "about 01:40, as long as the slowest recorded machine took, and 1 of which" in Plan(tiny, ["one", "new"]).text()
    )
    assert "executing 1 page, one after another: no record says how long" in Plan(tiny, ["new"]).text()


def test_where_nothing_is_executed_there_is_no_such_step(tiny: Book) -> None:
    made = Plan(tiny, [])
    assert "What follows, in about 3 minutes," in made.text()
    assert "executing" not in made.text()
    assert [made.begin(), made.begin()] == [
        "[1/2] checking the sources",
        "[2/2] writing the pages in English and 中文",
    ]


def test_a_build_says_each_step_as_it_begins(
    tiny: Book, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line stands before what it names; what is done in a step is stood in for by a line of its own."""
    from booktools.executions import execute

    def stand_in(name: str) -> object:
        return lambda *given: print(f"({name})")

    monkeypatch.setattr(building, "check", stand_in("checked"))
    monkeypatch.setattr(execute, "execute_all", stand_in("executed"))
    monkeypatch.setattr(building, "open_machines", lambda book, name: [])
    monkeypatch.setattr(building, "_build_languages", stand_in("written"))
    monkeypatch.setattr(building, "publish", stand_in("published"))
    assert building.build(tiny, quiet=True, planned=True) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  1. checking the sources: seconds; half a minute the first time",
        "  2. executing 1 page, one after another: no record says how long",
        "  3. writing the pages in English and 中文: one to two minutes; seconds where nothing has changed",
        "[1/3] checking the sources",
        "(checked)",
        "[2/3] executing 1 page, one after another",
        "(executed)",
        "[3/3] writing the pages in English and 中文",
        "(written)",
        "(published)",
    ]


def test_a_page_that_cannot_be_read_leaves_the_word_to_the_check(tiny: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(book: Book) -> list[str]:
        raise BookError("a cell is not Python")

    monkeypatch.setattr(building, "not_executed", unreadable)
    assert len(building._plan(tiny, "this").steps) == 2
