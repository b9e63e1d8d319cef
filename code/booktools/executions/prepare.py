"""Find the pages without a valid execution on this machine, and write their notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from booktools.executions.executions import reading, write_notebook
from booktools.executions.fingerprint import fingerprint
from booktools.executions.short import MARK
from booktools.source.book import Book, BookError
from booktools.source.kernel import KEY
from booktools.source.page import pages_with_cells, source
from booktools.source.short_flag import is_short
from dlperf.environment import machine


def prepare(book: Book, page: str, here: dict[str, Any] | None = None) -> tuple[Path, bool]:
    """Writes a page as a notebook to execute, unless an execution of it is at hand; returns its path and whether.

    The first language's cells are the page's cells: all languages share them. ``here`` is this machine,
    for a caller that asks about many pages.
    """
    path, mark = book.notebooks / f"{page}.ipynb", _mark(book, page, here or machine())
    if _is_execution(book, path, mark):
        return path, True
    import nbformat

    notebook = source(book, page).notebook()
    notebook.metadata[KEY] = nbformat.from_dict(mark)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_notebook(notebook, path)
    return path, False


def _mark(book: Book, page: str, here: dict[str, Any]) -> dict[str, Any]:
    """Returns what an execution of a page on the machine ``here`` would be marked with."""
    mark: dict[str, Any] = {"fingerprint": fingerprint(book, source(book, page)), "machine": here}
    return mark | {MARK: True} if is_short() else mark


def _is_execution(book: Book, path: Path, mark: dict[str, Any]) -> bool:
    if not path.is_file():
        return False
    try:
        said = reading(book, path)
    except BookError:  # Cut off half-way: as good as none.
        return False
    return said.whole and {name: said.mark.get(name) for name in mark} == mark


def not_executed(book: Book) -> list[str]:
    """Returns the pages that have no valid execution here, and writes nothing; BookError names a bad cell."""
    here = machine()
    return [
        page
        for page in pages_with_cells(book)
        if not _is_execution(book, book.notebooks / f"{page}.ipynb", _mark(book, page, here))
    ]


def waiting(book: Book) -> list[tuple[str, Path]]:
    """Returns the pages that have no valid execution on this machine, prepared, with their notebooks."""
    here = machine()
    prepared = [(page, *prepare(book, page, here)) for page in pages_with_cells(book)]
    return [(page, path) for page, path, done in prepared if not done]
