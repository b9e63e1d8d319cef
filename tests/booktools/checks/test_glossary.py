"""A glossary's entries are paired by the English term, and stand in the order of their readers."""

from __future__ import annotations

import pytest

from booktools.checks import glossary, parity
from booktools.source.blocks import blocks
from booktools.source.book import Book
from tests.conftest import ROOT, edit

ENGLISH = ["bandwidth\n  Bytes per second.", "cache\n  Memory that is near.", "recompilation\n  Compiling anew."]
CHINESE = [
    "重新编译\n  recompilation。再编译一次。",
    "带宽\n  bandwidth，又称BW。每秒字节数。",
    "缓存\n  cache。近的存储器。",
]


def page(entries: list[str]) -> str:
    return "\n```{glossary}\n" + "\n\n".join(entries) + "\n```\n"


@pytest.fixture
def book(tiny: Book) -> Book:
    """A book of two languages, whose page ends in a glossary that each has in an order of its own."""
    for language, entries in (("en", ENGLISH), ("zh", CHINESE)):
        path = tiny.page(language, "tiny")
        path.write_text(path.read_text(encoding="utf-8") + page(entries), encoding="utf-8")
    return tiny


def found(book: Book) -> list[str]:
    return [*parity.problems(book), *glossary.problems(book)]


def test_the_book_s_glossaries_are_in_order() -> None:
    assert glossary.problems(Book(ROOT)) == []


def test_entries_are_paired_whatever_their_order(book: Book) -> None:
    assert found(book) == []
    ours, theirs = blocks(page(ENGLISH)), blocks(page(CHINESE))
    in_order, wrong = glossary.paired(ours, theirs)
    assert wrong == []
    assert [block.text for block in in_order if block.kind == glossary.TERM] == ["带宽", "缓存", "重新编译"]


def test_what_stands_in_a_paired_entry_is_compared(book: Book) -> None:
    edit(book.page("en", "tiny"), "Memory that", "Memory {cite}`x` that")
    [problem] = parity.problems(book)
    assert "references differ: {cite}`x` against nothing" in problem
    assert "近的存储器" in problem


def test_a_missing_entry_is_named(book: Book) -> None:
    edit(book.page("zh", "tiny"), CHINESE[1], "")
    [problem] = parity.problems(book)
    assert problem.endswith("the glossary lacks 'bandwidth'")


def test_an_entry_of_one_language_alone_is_named(book: Book) -> None:
    edit(book.page("en", "tiny"), ENGLISH[1], "")
    [problem] = parity.problems(book)
    assert problem.endswith("'缓存' explains 'cache', which the first language lacks")


def test_a_doubled_entry_is_named_at_both_places(book: Book) -> None:
    edit(book.page("zh", "tiny"), CHINESE[2], f"{CHINESE[2]}\n\n高速缓存\n  cache。近的存储器。")
    problems = parity.problems(book)
    assert len(problems) == 2
    assert all(problem.endswith("'cache' is explained 2 times") for problem in problems)


def test_an_entry_doubled_in_the_first_language_is_named(book: Book) -> None:
    edit(book.page("en", "tiny"), ENGLISH[1], f"{ENGLISH[1]}\n\n{ENGLISH[1]}")
    [problem] = parity.problems(book)
    assert problem.endswith("the first language explains 'cache' 2 times")


@pytest.mark.parametrize(("language", "entries"), [("en", ENGLISH), ("zh", CHINESE)])
def test_an_entry_out_of_order_is_named(book: Book, language: str, entries: list[str]) -> None:
    edit(book.page(language, "tiny"), page(entries), page([entries[1], entries[0], entries[2]]))
    [problem] = found(book)
    assert f"{entries[0].splitlines()[0]!r} stands after {entries[1].splitlines()[0]!r}" in problem


def test_pinyin_is_the_order_of_gb_2312_with_exceptions() -> None:
    terms = ["CUDA图", "陈旧度", "重新编译", "存储", "缓存", "缓存行", "缓存未命中", "中位数"]
    filed = [glossary.order(term, "zh") for term in terms]
    assert filed == sorted(filed)


@pytest.mark.parametrize("character", ["蹰", "镕"])
def test_a_character_that_is_not_filed_by_pinyin_is_named(book: Book, character: str) -> None:
    edit(book.page("zh", "tiny"), "缓存\n", f"{character}存\n")
    [problem] = glossary.problems(book)
    assert f"GB 2312 does not file {character} by pinyin" in problem
