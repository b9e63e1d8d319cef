"""`pytest --nbmake notebooks` executes every page that has cells, and the build takes over what it executed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from booktools.book import Book
from tests.conftest import ROOT, build, edit_both


@pytest.fixture
def book(tiny: Book) -> Book:
    """The tiny book with the real `conftest.py`."""
    shutil.copy(ROOT / "conftest.py", tiny.root)
    return tiny


def nbmake(book: Book, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "--nbmake", "--overwrite", *arguments]
    given = {**os.environ, **environment}
    return subprocess.run(
        command, cwd=book.root, env=given, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_as_many_run_as_the_toc_lists_and_the_build_executes_none_again(book: Book) -> None:
    done = nbmake(book, "notebooks")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    built = build(book)
    assert built.returncode == 0, built.stdout
    assert "executing" not in built.stdout


def test_what_ran_beside_others_is_measured_anew_unless_that_is_enough(book: Book) -> None:
    done = nbmake(book, "-n", "2", "notebooks", BOOKTOOLS_BESIDE="1")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    enough = build(book, BOOKTOOLS_BESIDE="1")
    assert "executing" not in enough.stdout
    alone = build(book, BOOKTOOLS_BESIDE="")
    assert "executing [1/1] tiny" in alone.stdout


def test_a_cell_that_raises_fails(book: Book) -> None:
    edit_both(book, "tiny", "1 + 2", "1 / 0")
    done = nbmake(book, "notebooks")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stdout


@pytest.mark.parametrize("how", [(), ("-n", "2")], ids=["in turn", "two at a time"])
def test_fewer_than_the_toc_lists_fails(book: Book, how: tuple[str, ...]) -> None:
    shutil.copy(book.page("en", "tiny"), book.page("en", "twin"))
    (book.root / "_toc.yml").write_text((book.root / "_toc.yml").read_text() + "  - file: twin\n")
    done = nbmake(book, "notebooks", "--ignore", "notebooks/twin.ipynb", *how)
    assert "1 passed" in done.stdout
    assert "_toc.yml lists 2 chapters with cells, 1 ran" in done.stdout
    assert done.returncode == 1


def test_a_page_that_does_not_exist_is_named(book: Book) -> None:
    book.page("en", "tiny").unlink()
    done = nbmake(book, "notebooks")
    assert done.returncode != 0
    assert "tiny.md: _toc.yml lists this page, but the file does not exist" in done.stdout
