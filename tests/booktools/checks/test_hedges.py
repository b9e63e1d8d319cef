"""The lint on hedges: what makes a reader choose is found, advice and plain relative clauses are not."""

from __future__ import annotations

import pytest

from booktools.checks.hedges import hedges, problems
from booktools.source.blocks import Block
from booktools.source.book import Book
from tests.conftest import edit


@pytest.mark.parametrize(
    "text",
    [
        "Where this factor is above one, tensors stay in the caches.",
        "it is faster; where it is below one, one core works.",
        "Where this ratio is well above one, the data lie in a cache.",
        "Where the ratio is large, the addition measures the system.",
        "Where the second number is the larger, the processes differ.",
        "and where that is less, the cores are too slow",
        "Where it stays below $k$, the back end finished some.",
        "Where compiling loses here, it is for another reason.",
        "If the gain is smaller here, look at the threads.",
        "If two threads take longer on this machine, they share a core.",
        "Where the times exceed it, pages were new.",
        "这个倍数如果大于1，是因为张量留在缓存里。",
        "这个比值若明显大于1，说明数据在缓存里。",
        "后一个比值如果较低，可以有三种解释。",
        "它若小于1，就是操作变短了。",
        "如果小于1，是因为核太少。",
    ],
)
def test_a_hedge_is_found(text: str) -> None:
    assert len(hedges(Block("paragraph", 1, text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "to its place in the chapter, where it is explained",
        "If it lies inside, ask a timeline for how long both were running.",
        "If sizes are few, pad them to fewer.",
        "A maximum must remember where it was found.",
        "Where several messages are ready, the earliest goes first.",
        "When it is full, `enqueue` itself waits here as everywhere.",
        "如果$g$大于$t$，编译就亏了。",
        "尺寸如果不多，就补齐到几种。",
        "如果同时有几条消息，就先发最早的。",
    ],
)
def test_advice_is_none(text: str) -> None:
    assert hedges(Block("paragraph", 1, text)) == []


def test_a_hedge_stops_the_build_and_says_what_to_write(tiny: Book) -> None:
    edit(tiny.page("en", "tiny"), "Like this.", "Where this ratio is above one, it is faster.")
    (problem,) = problems(tiny)
    assert "tiny.md:" in problem
    assert "'Where this ratio is above' makes the reader choose" in problem
