"""`pytest --nbmake notebooks` executes every page that has cells, and the build takes over what it executed."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from booktools.source.book import Book
from tests.build.conftest import Here
from tests.conftest import ROOT

CELL = """---
kernelspec:
  name: python3
---

```{code-cell} ipython3
1 + 2
```
"""


@pytest.fixture
def book(tiny: Book) -> Book:
    """The tiny book with the real `conftest.py`."""
    shutil.copy(ROOT / "conftest.py", tiny.root)
    return tiny


def nbmake(book: Book, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "--nbmake", "--overwrite", *arguments]
    return subprocess.run(command, cwd=book.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_as_many_run_as_the_toc_lists_and_the_build_executes_none_again(book: Book, build_here: Here) -> None:
    done = nbmake(book, "notebooks")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    built = build_here(book)
    assert built.returncode == 0, built.stdout
    assert "The book is built" in built.stdout
    assert "executing" not in built.stdout


def test_a_cell_that_raises_fails(book: Book) -> None:
    book.page("en", "tiny").write_text(CELL.replace("1 + 2", "1 / 0"), encoding="utf-8")
    done = nbmake(book, "notebooks")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stdout


def test_fewer_than_the_toc_lists_fails(book: Book) -> None:
    for name in ("tiny", "twin"):
        book.page("en", name).write_text(CELL, encoding="utf-8")
    (book.root / "_toc.yml").write_text((book.root / "_toc.yml").read_text() + "  - file: twin\n")
    done = nbmake(book, "notebooks", "--ignore", "notebooks/twin.ipynb")
    assert "1 passed" in done.stdout
    assert "_toc.yml lists 2 chapters with cells, 1 ran" in done.stdout
    assert done.returncode == 1


def test_a_page_that_does_not_exist_is_named(book: Book) -> None:
    book.page("en", "tiny").unlink()
    done = nbmake(book, "notebooks")
    assert done.returncode != 0
    assert "tiny.md: _toc.yml lists this page, but the file does not exist" in done.stdout
