"""No naked number: what is caught, and what honest text may say."""

from __future__ import annotations

import pytest

from booktools.blocks import Block
from booktools.book import Book
from booktools.lint import chinese_problems, naked_numbers, problems
from tests.conftest import ROOT


def test_the_book_has_no_naked_number() -> None:
    assert problems(Book(ROOT)) == []


@pytest.mark.parametrize(
    "text",
    [
        "It took 3.5 ms.",
        "It took 3.5 seconds on this machine.",
        "about 40% of the step",
        "$12\\,\\mathrm{GB/s}$ at best",
        "a bandwidth of 1,200 GB/s",
        "It is 2.3× faster.",
        "ten times slower",
        "three-fold",
        "twice as fast",
        "用时3.5毫秒。",
        "快了两倍。",
        "大约百分之四十",
        "占三成",
    ],
)
def test_naked_numbers_are_caught(text: str) -> None:
    assert naked_numbers(Block("paragraph", 1, text))


@pytest.mark.parametrize(
    "text",
    [
        "It took {glue:text}`a.b`, a ratio of {glue:text}`a.c:.1f`.",
        "It took 0.69 ms {cite}`someone`.",
        "We set the level to {given}`95 %`.",
        "Two threads, 200 samples, a 512 × 512 matrix, float32.",
        "`Benchmark` prints `0.1234 sec`.",
        "In 1967, Amdahl wrote of 32 bits in chapter 3.",
        "the formula $T = n t$ for $n = 8$",
        "共200个样本，512 × 512的矩阵。",
        "Python 3.11 and CUDA 12",
    ],
)
def test_honest_text_passes(text: str) -> None:
    assert naked_numbers(Block("paragraph", 1, text)) == []


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
