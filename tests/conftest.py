"""The tiny book of `tests/book`, ready to build anywhere, and what runs it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from booktools.source.book import Book

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = 40
"""Examples of a property in the ordinary tests; `--hypothesis-profile=long` takes ten times as many."""
for profile, examples in (("book", EXAMPLES), ("long", 10 * EXAMPLES)):
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,  # no test asserts a time, and a first call may compile
        suppress_health_check=[HealthCheck.too_slow],  # that depends on who else uses the processor
        print_blob=True,  # a failure is replayed with the line that it prints
    )
settings.load_profile("book")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell started pytest in the background: tests send Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
for name in [name for name in os.environ if name.startswith(("MAKE", "MFLAGS"))]:
    del os.environ[name]  # `make` started pytest: one that a test starts is no part of it, and says nothing of its jobs


def copy_tiny_book(folder: Path) -> Book:
    """Writes the tiny book into ``folder``, with the real configuration, terms and catalogue."""
    shutil.copytree(ROOT / "tests" / "book", folder, dirs_exist_ok=True)
    for name in ("_config.yml", "requirements.txt", "CITATION.cff"):
        shutil.copy(ROOT / name, folder)
    shutil.copy(ROOT / "chapters" / "terms.csv", folder / "chapters")
    extra = folder / "chapters" / "labels.zh.extra.po"
    labels = (ROOT / "chapters" / "labels.zh.po").read_text(encoding="utf-8") + extra.read_text(encoding="utf-8")
    (folder / "chapters" / "labels.zh.po").write_text(labels, encoding="utf-8")
    extra.unlink()
    return Book(folder)


@pytest.fixture(autouse=True)
def _random_numbers_are_seeded() -> None:
    """Every test draws the same numbers each time, alone and after others."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if (torch := sys.modules.get("torch")) and hasattr(torch, "manual_seed"):
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def tiny(tmp_path: Path) -> Book:
    """A fresh copy of the tiny book."""
    return copy_tiny_book(tmp_path / "book")


def edit(path: Path, old: str, new: str) -> None:
    """Replaces ``old``, which must be there, in a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} does not hold {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def edit_both(book: Book, page: str, old: str, new: str) -> None:
    """Makes the same edit in a page of every language."""
    for language in book.languages:
        edit(book.page(language.code, page), old, new)


def build(book: Book, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs ``jupyter-book build .`` as a user would, in the book's folder."""
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", ".", *arguments]
    clean = {key: value for key, value in os.environ.items() if key != "MACHINE"}
    return subprocess.run(
        command,
        cwd=book.root,
        env={**clean, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


Build = Callable[..., subprocess.CompletedProcess[str]]
