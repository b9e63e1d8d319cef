"""Keeping what this machine measured as `records/<name>/`: the executed notebooks themselves."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat

from booktools.book import Book, BookError
from booktools.check import check
from booktools.execute import execute
from booktools.page import pages_with_cells
from booktools.prepare import prepare
from booktools.records import HERE, recorded_machines


def without_warnings(path: Path) -> nbformat.NotebookNode:
    """Returns an executed notebook without what its cells wrote to the error stream: it names files of this machine."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def record_machine(book: Book, name: str) -> None:
    """Executes every page here, anew, and keeps the result under ``name``.

    Nothing of an earlier record is touched until every page has run.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) or name == HERE:
        raise BookError(
            f"MACHINE={name!r}: a machine's name is lower-case letters, digits and hyphens, such as cpu-2-cores"
        )
    check(book)
    pages = pages_with_cells(book)
    for number, page in enumerate(pages, 1):
        path, _ = prepare(book, page)
        execute(book, page, path, f"[{number}/{len(pages)}]")
    folder = book.records / name
    for page in pages:
        target = folder / f"{page}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(without_warnings(book.notebooks / f"{page}.ipynb"), target)
    recorded_machines(book)
    print(
        f"{book.relative(folder)}: {len(pages)} page(s) recorded; see them with make book MACHINE={name}, then commit"
    )
