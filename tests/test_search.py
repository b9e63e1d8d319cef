"""The Chinese search: any piece of a text finds it, by construction of its terms."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from booktools.search import pairs

HAN = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=12)


def query_terms(query: str) -> list[str]:
    """What the page's script makes of a run of Han characters."""
    return [query] if len(query) == 1 else [query[i : i + 2] for i in range(len(query) - 1)]


@given(HAN, HAN, HAN)
def test_every_piece_of_a_text_is_found(before: str, piece: str, after: str) -> None:
    assert set(query_terms(piece)) <= set(pairs(before + piece + after))


def test_words_stay_whole_between_han() -> None:
    assert pairs("用Benchmark测量") == ["用", "Benchmark", "测", "量", "测量"]
