"""The index of Chinese pages holds the English words in them; the rest is tested in the browser."""

from __future__ import annotations

from booktools.search import SearchHan


def test_words_between_han_are_words_of_the_index() -> None:
    index = SearchHan({})
    assert index.split("用Benchmark测量all_reduce的µs数，第2次") == ["Benchmark", "all_reduce", "µs", "2"]
    assert index.stem("measuring") == index.stem("measured")
