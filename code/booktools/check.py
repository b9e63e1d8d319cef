"""Everything that can be wrong with the sources, found before anything is executed or built."""

from __future__ import annotations

from booktools import lint, parity, references
from booktools.book import Book, BookError


def problems(book: Book) -> list[str]:
    """Returns what is wrong with the sources, as messages that begin with file and line."""
    missing = parity.missing(book)
    return missing or [*parity.problems(book), *lint.problems(book), *references.problems(book)]


def check(book: Book) -> None:
    """Raises BookError with everything that is wrong with the sources; takes no longer than reading them."""
    if found := problems(book):
        raise BookError("\n".join(found))
