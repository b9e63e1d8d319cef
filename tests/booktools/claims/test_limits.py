"""Limits: none is moved, added or taken away without the register, which keeps the former ones."""

from __future__ import annotations

import json
import re

import pytest

from booktools.claims.claims import all_outcomes
from booktools.claims.limits import Former, Registered, live, predicate_of, problems, register, register_of, registered
from booktools.source.book import Book, BookError
from tests.conftest import ROOT, edit

CLAIMS = '''
"""Claims."""
from booktools.claims.claims import Claim, Outcome

TENTH = 0.1


def near(value):
    """Returns whether it is near."""
    return abs(value) < TENTH


def of(side):
    return lambda r: r[f"tiny.{side}"] < 2


CLAIMS = (Claim(id="tiny.a", keys=("tiny.x",), holds=lambda r: near(r["tiny.x"]), basis="theory"),)
OUTCOMES = (
    Outcome(id="tiny.left", keys=("tiny.left",), holds=of("left")),
    Outcome(id="tiny.right", keys=("tiny.right",), holds=of("right")),
)
'''


@pytest.fixture
def book(tiny: Book) -> Book:
    """Returns a book with one claim and two outcomes, all registered."""
    (tiny.chapters / "claims" / "tiny.py").write_text(CLAIMS, encoding="utf-8")
    register(tiny, "")
    return tiny


def change(book: Book, old: str, new: str) -> None:
    edit(book.chapters / "claims" / "tiny.py", old, new)


def test_the_book_registers_all_its_limits() -> None:
    book = Book(ROOT)
    assert live(registered(book)) == all_outcomes(book).keys()
    assert problems(book) == []


def test_what_failed_and_what_moved_shows_its_figure() -> None:
    for name, entry in registered(Book(ROOT)).items():
        later = [each.predicate for each in entry.former[1:]] + [entry.predicate]
        for former, then in zip(entry.former, later, strict=False):  # none follows where nothing was changed
            moved = figures(former.predicate) != figures(then) and without(former.predicate) == without(then)
            assert former.limit or not (moved or former.measured), f"{name}, until {former.until}: which limit?"
            assert not re.match("Merge|wip", former.why), f"{name}, until {former.until}: why?"


def figures(predicate: str) -> list[str]:
    """Returns the numbers of a predicate that are in no key."""
    return re.findall(r"(?<![\w.'-])\d+(?:\.\d+)?", predicate)


def without(predicate: str) -> str:
    """Returns a predicate that says nothing of its numbers, nor whether a limit itself counts."""
    return re.sub(r"(?<![\w.'-])\d+(?:\.\d+)?", "#", predicate).replace(">=", ">").replace("<=", "<")


def test_a_book_without_a_register_has_no_limit_that_could_be_moved(tiny: Book) -> None:
    assert not register_of(tiny).exists()
    assert problems(tiny) == []


def test_a_predicate_comes_with_what_it_uses_of_its_file(book: Book) -> None:
    known = all_outcomes(book)
    assert predicate_of(known["tiny.a"].holds) == (
        "lambda r: near(r['tiny.x']); def near(value): return abs(value) < TENTH; TENTH = 0.1"
    )
    left, right = (predicate_of(known[f"tiny.{side}"].holds) for side in ("left", "right"))
    assert left != right
    assert left.endswith("side = 'left'")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("TENTH = 0.1", "TENTH = 0.2"),
        ("abs(value) <", "abs(value) <="),
        ('near(r["tiny.x"])', 'near(r["tiny.x"] / 2)'),
        ("] < 2", "] < 3"),
    ],
)
def test_a_limit_that_was_moved_is_refused(book: Book, old: str, new: str) -> None:
    change(book, old, new)
    found = problems(book)
    assert found
    assert "the limit of tiny." in found[0]
    assert "set it back, or say why: python -m booktools limits tiny." in found[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("abs(value) <", "abs(value)  <  "),
        ('"""Returns whether it is near."""', '"""Returns whether a value is near."""'),
        ("TENTH = 0.1", "TENTH = 0.1  # a tenth"),
        ('near(r["tiny.x"])', "near(r['tiny.x'])"),
    ],
)
def test_layout_and_words_move_none(book: Book, old: str, new: str) -> None:
    change(book, old, new)
    assert problems(book) == []


def test_a_former_limit_is_kept_with_why_it_went(book: Book) -> None:
    change(book, "TENTH = 0.1", "TENTH = 0.2")
    with pytest.raises(BookError, match=r"tiny\.a had another limit: say why it was changed"):
        register(book, "tiny.a")
    assert problems(book), "nothing was written"
    register(book, "tiny.a", because="too narrow", limit="0.1", measured="0.13", machine="quux")
    assert problems(book) == []
    (former,) = registered(book)["tiny.a"].former
    assert former.predicate.endswith("TENTH = 0.1")
    assert (former.why, former.limit, former.measured, former.machine) == ("too narrow", "0.1", "0.13", "quux")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", former.until)


def test_what_is_new_or_gone_is_named_and_one_command_registers_it(book: Book) -> None:
    change(book, 'id="tiny.left"', 'id="tiny.top"')
    found = problems(book)
    assert [re.search(r"tiny\.\w+ is (?:not registered|registered, and no page has it)", each) for each in found]
    assert len(found) == 2
    register(book, "")
    assert problems(book) == []
    assert live(registered(book)) == {"tiny.a", "tiny.top", "tiny.right"}


def test_what_goes_keeps_its_former_limits_and_takes_them_along_when_it_comes_back(book: Book) -> None:
    change(book, "TENTH = 0.1", "TENTH = 0.2")
    register(book, "tiny.a", because="too narrow", limit="0.1")
    change(book, 'id="tiny.a"', 'id="tiny.b"')
    register(book, "tiny.a", because="it said nothing new")
    register(book, "")
    assert problems(book) == []
    assert [each.why for each in registered(book)["tiny.a"].former] == ["too narrow", "it said nothing new"]
    change(book, 'id="tiny.b"', 'id="tiny.a"')
    assert "tiny.a is not registered" in problems(book)[0]
    register(book, "")
    assert problems(book) == []
    now = registered(book)["tiny.a"]
    assert now.predicate.endswith("TENTH = 0.2")
    assert [each.limit for each in now.former] == ["0.1", ""]


def test_registering_the_new_ones_accepts_no_changed_one(book: Book) -> None:
    change(book, "TENTH = 0.1", "TENTH = 0.2")
    register(book, "")
    assert "the limit of tiny.a has been changed" in problems(book)[0]


def test_a_claim_says_where_its_limit_comes_from(book: Book) -> None:
    change(book, 'basis="theory"', 'basis="taste"')
    (problem,) = problems(book)
    assert "tiny.a does not say where its limit comes from: basis= one of theory, midway" in problem


@pytest.mark.parametrize("content", ["{", '{"tiny.a": 1}', '{"tiny.a": {"predicate": "", "former": [{"was": 1}]}}'])
def test_a_register_that_cannot_be_read_is_named(book: Book, content: str) -> None:
    register_of(book).write_text(content, encoding="utf-8")
    with pytest.raises(BookError, match=re.escape("chapters/claims/limits.json: cannot be read")):
        problems(book)


def test_an_unknown_id_is_refused(book: Book) -> None:
    with pytest.raises(BookError, match=r"there is no claim, outcome or bound 'tiny\.b'"):
        register(book, "tiny.b")
    assert json.loads(register_of(book).read_text(encoding="utf-8")).keys() == {"tiny.a", "tiny.left", "tiny.right"}


def test_a_limit_that_was_asked_of_a_median_says_so_where_quartiles_are_asked_now() -> None:
    of_median = Former("lambda r: r['a'].median < 1.1", "2026-01-02", "quartiles tell more", "1.1")
    by_quartiles = Registered("lambda r: r['a'].quartiles[1] < 1.1")
    assert of_median.of_median(by_quartiles)
    assert not of_median.of_median(Registered("lambda r: r['a'].median < 1.2"))
    assert not Former("lambda r: r['a'] < 1.1", "2026-01-02", "", "1.1").of_median(by_quartiles)
