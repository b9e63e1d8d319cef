"""Run all checks of the sources, before anything is executed or built."""

from __future__ import annotations

from booktools.checks import branches, density, folding, glossary, hedges, lint, parity, ratios, references, width
from booktools.claims import limits, outcomes, predictions
from booktools.source.book import Book, BookError

CHECKS = (
    parity,
    lint,
    references,
    folding,
    width,
    density,
    hedges,
    outcomes,
    limits,
    predictions,
    ratios,
    branches,
    glossary,
)


def problems(book: Book) -> list[str]:
    """Returns what is wrong with the sources, as messages that begin with file and line."""
    return parity.missing(book) or [problem for part in CHECKS for problem in part.problems(book)]


def check(book: Book) -> None:
    """Raises BookError with everything that is wrong with the sources; takes no longer than reading them."""
    if found := problems(book):
        raise BookError("\n".join(found))
