"""The edition of a machine with a GPU can be built: each label, key and claim is there on the GPU's path too."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from rehearsal.execution import copy_of_the_book

from booktools.notebook import code_cells, read_page
from tests.conftest import build
from tests.gpu.conftest import BOOK, PAGES, ROOT, Rehearsals

MACHINE = "simulated-gpu"


def lenders() -> bool:
    """Returns whether some record is of the pages' present cells: from one of others a page borrows nothing."""
    sources = lambda notebook: [cell.source for cell in code_cells(notebook)]
    pages = {page: sources(read_page(BOOK.page("en", page))) for page in PAGES}
    folders = [folder for folder in BOOK.records.iterdir() if all((folder / f"{p}.ipynb").is_file() for p in PAGES)]
    read = lambda path: sources(nbformat.read(path, as_version=4))
    return any(all(read(folder / f"{p}.ipynb") == cells for p, cells in pages.items()) for folder in folders)


def test_the_edition_of_a_gpu_is_built_without_a_warning(rehearsals: Rehearsals, tmp_path: Path) -> None:
    if not lenders():
        pytest.skip("no record is of the present cells, and from others a page borrows nothing: record a machine anew")
    book = copy_of_the_book(tmp_path / "book")
    shutil.copytree(ROOT / "records", book.records)  # a page borrows from these what only a CPU records
    (book.records / MACHINE).mkdir()
    for page in PAGES:
        shutil.copy(rehearsals(page, 1).notebook, book.records / MACHINE)
    for outcome in ("held", "failed"):  # what is said of a GPU only where one was asked is read here, both ways
        done = build(book, MACHINE=MACHINE, BOOKTOOLS_OUTCOME=outcome)
        assert done.returncode == 0, done.stdout[-4000:]
        assert "WARNING" not in done.stdout, done.stdout[-4000:]
    for page in PAGES:
        for folder in ("", "zh"):
            assert "NVIDIA H200" in (book.build / "html" / folder / f"{page}.html").read_text(encoding="utf-8")
