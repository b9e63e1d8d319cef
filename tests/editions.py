"""Editions of machines that nobody has: their records beside the committed ones, and a build in every language."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import nbformat

from booktools.source.book import Book
from booktools.source.notebook import code_cells, glue, stored
from booktools.source.page import pages_with_cells
from tests.conftest import ROOT

MACHINE, LENDER = "made-here", "lender"
"""The machine whose edition is built, and one that lends it what it does not measure."""
OUTCOMES = {"en": "held", "zh": "failed"}
"""Which text each language is built with. Both have the same keys, claims and labels in the same blocks, so that one
build of each sees what is said either way."""
JUDGED = dict.fromkeys(OUTCOMES, "")
"""Each language with the text that follows from what was measured."""


def add_records(book: Book, notebook_of: Callable[[str], Path]) -> None:
    """Adds the committed records to a book, that of `MACHINE`, and one that lends to it.

    What only a CPU measures, a GPU's edition borrows; but from a record of other cells it would not. So there is one
    of the present cells with whatever any record has under the keys that `MACHINE` lacks, be that record old.
    """
    shutil.copytree(ROOT / "records", book.records)
    old = sorted(book.records.iterdir())
    for name in (MACHINE, LENDER):
        (book.records / name).mkdir()
    for page in pages_with_cells(book):
        shutil.copy(notebook_of(page), book.records / MACHINE)
        notebook = nbformat.read(notebook_of(page), as_version=4)
        there = set(glue(notebook))
        for path in (folder / f"{page}.ipynb" for folder in old):
            for cell in code_cells(nbformat.read(path, as_version=4)) if path.is_file() else []:
                lent = [output for output in cell.outputs if stored(output) and stored(output) not in there]
                code_cells(notebook)[0].outputs += lent
                there |= set(map(stored, lent))
        nbformat.write(notebook, book.records / LENDER / f"{page}.ipynb")


def build_languages(book: Book, outcomes: Mapping[str, str] = OUTCOMES) -> dict[str, tuple[int, str]]:
    """Returns the exit status of each language's build of the edition of `MACHINE`, and what it said; side by side.

    An outcome is "held" or "failed", and "" where claims are judged.
    """
    started = {}
    for code, outcome in outcomes.items():
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


def assert_built(built: dict[str, tuple[int, str]]) -> None:
    """Fails where a language's build ended with an error or a warning, and shows the end of what it said."""
    for code, (status, said) in built.items():
        assert status == 0, (code, said[-4000:])
        assert "WARNING" not in said, (code, said[-4000:])
