"""What the head of a page says: a description that ends where a word does, and the picture of the book."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies
from matplotlib.font_manager import fontManager
from PIL import Image

from booktools import card
from booktools.book import Book, BookError
from booktools.look import shortened
from tests.conftest import ROOT

WORDS = strategies.lists(strategies.text("abcdefgh", min_size=1, max_size=12), min_size=40, max_size=60)


@given(WORDS)
def test_a_long_text_ends_at_a_word(words: list[str]) -> None:
    shown = shortened(" ".join(words))
    assert len(shown) <= 160
    if shown.endswith("…"):
        assert shown[:-1].split(" ") == words[: shown.count(" ") + 1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Short.", "Short."),
        ("A" * 50 + ". " + "b" * 60 + ". " + "c " * 60, "A" * 50 + ". " + "b" * 60 + "."),
        ("一" * 100 + "。" + "二" * 100, "一" * 100 + "。"),
    ],
)
def test_a_sentence_is_kept_whole_where_it_is_most_of_it(text: str, shown: str) -> None:
    assert shortened(text) == shown


def test_the_picture_is_as_large_as_asked_and_small_to_load() -> None:
    with Image.open(card.PATH) as picture:
        assert picture.size == card.SIZE == (1200, 630)
    assert card.PATH.stat().st_size < 100_000


def test_the_picture_can_be_drawn_anew(tmp_path: Path) -> None:
    if not {font.name for font in fontManager.ttflist} & set(card.HAN):
        pytest.skip("no font here has Han characters")
    card.draw(Book(ROOT), tmp_path / "card.png")
    with Image.open(tmp_path / "card.png") as picture:
        assert picture.size == card.SIZE


def test_without_a_font_for_it_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "HAN", ("No Such Font",))
    with pytest.raises(BookError, match="one of: No Such Font"):
        card.draw(Book(ROOT), tmp_path / "card.png")
