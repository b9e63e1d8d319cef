"""At most four numbers in a paragraph: which numbers count, which paragraphs, and what excuses more."""

from __future__ import annotations

import pytest

from booktools.checks.density import problems
from booktools.checks.numbers import numbers_met
from booktools.source.blocks import Block
from booktools.source.book import Book
from tests.conftest import edit

SUM = "{glue:text}`tiny.sum`"
FOUR, FIVE = f"The sum {SUM}, {SUM}, {SUM} and {{given}}`95 %`.", f"Sums: {SUM}, {SUM}, {SUM}, {SUM} and {SUM}."
LIKE = {"en": "Like this.", "zh": "像这样。"}


def met(text: str) -> int:
    return len(numbers_met(Block("paragraph", 1, text)))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("{glue:text}`p.a:.2f` times, {glue:text}`p.a.iqr`, {given}`2 %`, {here}`p.a`, {recorded}`p.b`", 5),
        ("{glue:text}`p.a`秒、{given}`2 %`", 2),
        ("It reached 3.7 GB/s in 12 ms {cite}`x2020`.", 2),
        ("达到3.7 GB/s，用了12 ms {cite}`x2020`。", 2),
        ("The 41.8 MB {cite}`x2020`. Take 512 of them.", 2),
        ("twice as fast {cite}`x2020`", 1),
        ("快了三倍 {cite}`x2020`", 1),
        ("with 1,024 rows, 512 columns, and 10,000 calls", 3),
        ("1,024行、512列、10,000次调用", 3),
        ("from 10–12 on, 64-byte lines", 2),
        ("10–12之后，64字节的行", 2),
        ("a 10,000th, 1万次", 1),
    ],
)
def test_a_number_that_a_reader_meets_counts(text: str, count: int) -> None:
    assert met(text) == count


@pytest.mark.parametrize(
    "text",
    [
        "two devices, three of them, 4 and 5",
        "两个设备，其中三个，4和5",
        "{eq}`async-eq-1`, {numref}`fig-12`, {ref}`section-12`, {cite}`chen2015`, {machine}`p.a`",
        "$x = 12$ and $1024 \\cdot 512$",
        "`sleep(12)`, `--repeats 300`",
        "Python 3.11, PCIe 4.0 and CUDA 12.8 here, ResNet-18, FP16, H200, 32-bit and 64 bit",
        "32位和64位",
        "in 2015, since 1998",
        "2015年",
        "[there](https://example.org/2048/12)",
    ],
)
def test_what_counts_or_names_things_does_not(text: str) -> None:
    assert met(text) == 0


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "- {}",
        "1. {}",
        "```{{glue:figure}} tiny.figure\n:name: other\n{}\n```",
        "```{{exercise}}\n:label: tiny-ex-2\n{}\n```",
        "> {}",
    ],
)
def test_the_fifth_number_of_a_paragraph_is_refused(tiny: Book, language: str, text: str) -> None:
    path = tiny.page(language, "tiny")
    edit(path, LIKE[language], text.format(FOUR))
    assert problems(tiny) == []
    edit(path, FOUR, FIVE)
    (found,) = problems(tiny)
    line = next(n for n, each in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if FIVE in each)
    assert found.startswith(f"chapters/{language}/tiny.md:{line}: 5 numbers; a paragraph has at most 4")


def test_of_a_phrase_by_outcome_one_part_is_met(tiny: Book) -> None:
    phrase = "[{given}`1` | {given}`2` and {given}`3` | ]{outcome=tiny.long}"
    assert put(tiny, f"{phrase}, {phrase}") == []
    edit(tiny.page("en", "tiny"), phrase, f"{phrase}, {{given}}`4`")
    (found,) = problems(tiny)
    assert "6 numbers" in found


def test_a_table_may_have_more(tiny: Book) -> None:
    edit(tiny.page("en", "tiny"), LIKE["en"], f"| a |\n|:--|\n| {FIVE} |")
    assert problems(tiny) == []


def put(book: Book, text: str) -> list[str]:
    edit(book.page("en", "tiny"), LIKE["en"], text)
    return problems(book)


@pytest.mark.parametrize(
    "text",
    [
        f"% numbers: they are compared here\n{FIVE}",
        f"% numbers: they are compared here\n\n{FIVE}",
        f"% numbers: they are compared here\n% not a term: sum\n{FIVE}",
        f"% not a term: sum\n% numbers: they are compared here\n{FIVE}",
        f"% numbers: a list\n- {FIVE}\n- {FIVE}",
        f"% numbers: a task\n```{{exercise}}\n:label: tiny-ex-2\nA.\n\n{FIVE}\n```",
    ],
)
def test_a_reason_excuses_what_follows_it(tiny: Book, text: str) -> None:
    assert put(tiny, text) == []


@pytest.mark.parametrize("text", [f"% numbers:\n{FIVE}", f"% numbers:  \n{FIVE}"])
def test_an_excuse_without_a_reason_is_refused(tiny: Book, text: str) -> None:
    (found,) = put(tiny, text)
    assert "gives no reason" in found


def test_an_excuse_that_nothing_needs_is_refused(tiny: Book) -> None:
    (found,) = put(tiny, f"% numbers: many\n{FOUR}")
    assert "remove it" in found


def test_an_excuse_does_not_reach_the_next_paragraph(tiny: Book) -> None:
    (found,) = put(tiny, f"% numbers: many\n{FIVE}\n\n{FIVE}")
    assert "5 numbers" in found
