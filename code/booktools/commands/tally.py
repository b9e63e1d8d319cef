"""Count for each page what the checks of cells, widths and numbers ask, as a table."""

from __future__ import annotations

from statistics import median

from booktools.checks.density import MOST, counts
from booktools.checks.folding import book_keeping
from booktools.checks.width import visible
from booktools.show.catalogue import COLUMNS, columns
from booktools.source.book import Book
from booktools.source.page import Page, every_page

HEADS = ("page", "cells shown", "recording", "lines shown", "recording", f"> {COLUMNS}", "widest", "blocks too wide",
         "paragraphs", f"> {MOST} numbers", "median", "most")  # fmt: skip


def tally(book: Book) -> str:
    """Returns a table of all pages with code: what they show, and how much of it has to change."""
    rows: list[tuple[str, ...]] = [HEADS]
    for _, page in every_page(book):
        if page.cells:
            rows.append((page.name, *map(str, _row(book, page))))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    return "\n".join("  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in rows)


def _row(book: Book, page: Page) -> list[float]:
    shown = list(visible(book, page))
    wide = [[columns(line) for line in code.lines] for code in shown]
    lines = [width for widths in wide for width in widths]
    records = [line for line, _ in book_keeping(book, page)]
    cells = [code for code in shown if code.kind == "cell"]
    recording = [any(code.line <= n < code.line + len(code.lines) for n in records) for code in cells]
    numbers = [len(met) for _, met in counts(page) if met]
    return [
        len(cells), sum(recording), len(lines), len(records), sum(width > COLUMNS for width in lines),
        max(lines, default=0), sum(max(widths) > COLUMNS for widths in wide),
        len(numbers), sum(number > MOST for number in numbers), median(numbers or [0]), max(numbers, default=0),
    ]  # fmt: skip
