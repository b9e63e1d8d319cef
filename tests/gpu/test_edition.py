"""The edition of a machine with a GPU can be built: each label, key and claim is there on the GPU's path too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from rehearsal.execution import copy_of_the_book

from booktools.book import Book
from booktools.check import problems
from booktools.notebook import code_cells, glue, stored
from tests.gpu.conftest import PAGES, ROOT, Rehearsals

MACHINE, LENDER = "simulated-gpu", "lender"
OUTCOMES = {"en": "held", "zh": "failed"}
"""Which text each language is built with. Both have the same keys, claims and labels in the same blocks, so that one
build of each sees what is said either way."""


def add_records(book: Book, notebook_of: Callable[[str], Path]) -> None:
    """Adds the committed records to a book, that of the simulated GPU, and one that lends to it.

    What only a CPU measures, the GPU's edition borrows; but from a record of other cells it would not. So there is one
    of the present cells with whatever any record has under the keys that the GPU lacks, be that record old.
    """
    shutil.copytree(ROOT / "records", book.records)
    old = sorted(book.records.iterdir())
    for name in (MACHINE, LENDER):
        (book.records / name).mkdir()
    for page in PAGES:
        shutil.copy(notebook_of(page), book.records / MACHINE)
        notebook = nbformat.read(notebook_of(page), as_version=4)
        there = set(glue(notebook))
        for path in (folder / f"{page}.ipynb" for folder in old):
            for cell in code_cells(nbformat.read(path, as_version=4)) if path.is_file() else []:
                lent = [output for output in cell.outputs if stored(output) and stored(output) not in there]
                code_cells(notebook)[0].outputs += lent
                there |= set(map(stored, lent))
        nbformat.write(notebook, book.records / LENDER / f"{page}.ipynb")


def build_languages(book: Book) -> dict[str, tuple[int, str]]:
    """Returns the exit status of the GPU's edition in each language, and what its build said; all side by side."""
    started = {}
    for code, outcome in OUTCOMES.items():
        command = [sys.executable, "-m", "booktools", "build-language", code, "mark", "--quiet"]
        given = {**os.environ, "MACHINE": MACHINE, "BOOKTOOLS_OUTCOME": outcome}
        started[code] = subprocess.Popen(
            command, cwd=book.root, env=given, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    try:
        said = {code: process.communicate()[0] for code, process in started.items()}
        return {code: (process.returncode, said[code]) for code, process in started.items()}
    finally:
        for process in started.values():
            process.kill()


def test_the_edition_of_a_gpu_is_built_without_a_warning(rehearsals: Rehearsals, tmp_path: Path) -> None:
    book = copy_of_the_book(tmp_path / "book")
    add_records(book, lambda page: rehearsals(page, 1).notebook)
    assert not problems(book)
    built = build_languages(book)
    warnings = [line for _, said in built.values() for line in said.splitlines() if "WARNING" in line]
    if warnings and all("no machine has" in line for line in warnings):
        pytest.skip("recorded on no machine yet, and the GPU does not measure it: " + "; ".join(warnings))
    for code, (status, said) in built.items():
        assert status == 0, (code, said[-4000:])
        assert "WARNING" not in said, (code, said[-4000:])
    site = book.build / "work" / MACHINE / "html"
    for page in PAGES:
        for folder in ("", "zh"):
            assert "NVIDIA H200" in (site / folder / f"{page}.html").read_text(encoding="utf-8")
