"""The lints on the book as it is, and the typography of Chinese."""

from __future__ import annotations

import pytest

from booktools.checks.lint import chinese_problems, problems
from booktools.source.blocks import Block
from booktools.source.book import Book
from tests.conftest import ROOT


def test_the_book_has_no_naked_number() -> None:
    assert problems(Book(ROOT)) == []


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("中位数 median", True),
        ("中位数median与`code`。", False),
        ("很好,是吗", True),
        ("叫作*{term}`预热`*", True),
        ("叫作*预热*（{term}`warm-up <预热>`）", False),
        ("**张量并行。**接着", True),
        ("**张量并行**。接着", False),
        ("第一行\n第二行", True),
        ("函数（见下）", False),
        ("函数(见下)", True),
    ],
)
def test_chinese_typography(text: str, bad: bool) -> None:
    assert bool(chinese_problems(Block("paragraph", 1, text))) is bad
