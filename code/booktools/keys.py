"""Keys: what the outputs of an executed page are stored under. A key stands for one value."""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode

from booktools.book import Book, BookError
from booktools.notebook import cell_lines, code_cells, read_page


def stored(output: NotebookNode) -> str:
    """Returns the key under which an output is stored, or an empty string if it is not."""
    return output.get("metadata", {}).get("scrapbook", {}).get("name", "")


def check_keys(book: Book, page: str, executed: NotebookNode, path: Path) -> None:
    """Raises BookError if the execution of ``page`` in ``path`` recorded a key twice; it names both cells.

    Else the later value would stand for both: in prose, in tables and in claims.
    """
    seen: dict[str, int] = {}
    for number, cell in enumerate(code_cells(executed)):
        for key in filter(None, map(stored, cell.outputs)):
            if key in seen:
                places = _places(book, page, executed)
                raise BookError(
                    f"{places[number]}: records {key!r}, which {places[seen[key]]} has recorded already "
                    f"({book.relative(path)}); a key stands for one value: give each a name of its own"
                )
            seen[key] = number


def _places(book: Book, page: str, executed: NotebookNode) -> list[str]:
    """Returns where each cell that was executed stands in the page as it is now, as messages name it."""
    path = book.page(book.languages[0].code, page)
    source, now = book.relative(path), read_page(path)
    lines: dict[str, list[int]] = {}
    for cell, line in zip(code_cells(now), cell_lines(now), strict=True):
        lines.setdefault(cell.source, []).append(line)
    return [
        f"{source}:{lines[cell.source].pop(0)}"
        if lines.get(cell.source)
        else f"{source} (cell {number}, since changed)"
        for number, cell in enumerate(code_cells(executed), 1)
    ]
