"""The languages say the same: page sets, cells, labels, and the sequence of blocks."""

from __future__ import annotations

from booktools.book import Book


def problems(book: Book) -> list[str]:
    """Returns what differs between the languages."""
    return []
