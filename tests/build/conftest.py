"""Books that several tests share: each is built once in a session, whichever of its workers needs it first."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from booktools.executions.records import HERE
from booktools.site.build import build as build_book
from booktools.source.book import Book
from tests.conftest import build, copy_tiny_book

Shared = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """Returns a folder by its name, after filling it, unless another worker of this session has done so."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base

    def folder_of(name: str, fill: Callable[[Path], object]) -> Path:
        folder, whole = base / name, base / f"{name}.whole"
        with (base / f"{name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not whole.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                fill(folder)
                whole.touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def built(shared: Shared) -> Book:
    """The tiny book, built from nothing as a user builds it; tests that change it take a `copy`."""

    def make(folder: Path) -> None:
        done = build(copy_tiny_book(folder / "book"))
        assert done.returncode == 0, done.stdout

    return Book(shared("built", make) / "book")


@pytest.fixture
def copy(built: Book, tmp_path: Path) -> Book:
    """A copy of the built book, free to change; times are kept so that Sphinx sees nothing new."""
    return copy_of(built, tmp_path)


def copy_of(book: Book, folder: Path) -> Book:
    """Writes a copy of a book with all that was built of it."""
    shutil.copytree(book.root, folder / "book")
    return Book(folder / "book")


@dataclass(frozen=True)
class Done:
    """What came of a build: its exit status and all that it said."""

    returncode: int
    stdout: str


Here = Callable[..., Done]


@pytest.fixture
def build_here(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Here:
    """Builds a book as the command does, but in this process, which has imported what a build needs already.

    ``machine`` is the one whose edition is built; other keywords are variables of the environment. Each language is
    built in a process of its own, as ever.
    """
    monkeypatch.delenv("MACHINE", raising=False)

    def run(book: Book, machine: str = HERE, **environment: str) -> Done:
        capfd.readouterr()
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            status = build_book(Book(book.root), machine)
        return Done(status, "".join(capfd.readouterr()))

    return run
