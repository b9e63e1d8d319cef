"""Check the keys under which an executed page's outputs are stored: each stands for one value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from booktools.source.book import Book, BookError
from booktools.source.notebook import code_cells, stored
from booktools.source.page import source

if TYPE_CHECKING:
    from nbformat import NotebookNode


def check_keys(book: Book, page: str, executed: NotebookNode, path: Path) -> None:
    """Raises BookError if the execution of ``page`` in ``path`` recorded a key twice; it names both cells.

    Else the later value would stand for both: in prose, in tables and in claims.
    """
    for key, first, second in twice(executed):
        places = _places(book, page, executed)
        raise BookError(
            f"{places[second]}: records {key!r}, which {places[first]} has recorded already "
            f"({book.relative(path)}); a key stands for one value: give each a name of its own"
        )


def twice(executed: NotebookNode) -> list[tuple[str, int, int]]:
    """Returns every key that an execution recorded twice, with the numbers of both cells, counted from 0."""
    seen: dict[str, int] = {}
    found = []
    for number, cell in enumerate(code_cells(executed)):
        for key in filter(None, map(stored, cell.outputs)):
            if key in seen:
                found.append((key, seen[key], number))
            seen[key] = number
    return found


def _places(book: Book, page: str, executed: NotebookNode) -> list[str]:
    """Returns where each cell that was executed stands in the page as it is now, as messages name it."""
    now = source(book, page)
    name = book.relative(now.path)
    lines: dict[str, list[int]] = {}
    for cell in now.cells:
        lines.setdefault(cell.source, []).append(cell.line)
    return [
        f"{name}:{lines[cell.source].pop(0)}" if lines.get(cell.source) else f"{name} (cell {number}, since changed)"
        for number, cell in enumerate(code_cells(executed), 1)
    ]
