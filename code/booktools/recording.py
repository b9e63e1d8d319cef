"""Keeping what this machine measured as `records/<name>/`: the executed notebooks themselves."""

from __future__ import annotations

import re
import shutil

from booktools.book import Book, BookError
from booktools.execute import execute, pages_with_cells, prepare
from booktools.records import HERE, recorded_machines
from booktools.site import check


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
        shutil.copyfile(book.notebooks / f"{page}.ipynb", target)
    recorded_machines(book)
    print(
        f"{book.relative(folder)}: {len(pages)} page(s) recorded; see them with make book MACHINE={name}, then commit"
    )
