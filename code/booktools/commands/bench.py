"""Measure the time of a build, on a copy of the book with eight chapters whose executions are at hand.

Nothing of yours is touched, and nothing is executed: the copy's executions are those recorded on the
first machine, marked as this one's. Three chapters stand in it twice, the second time under another
name. ``make bench-build`` runs it; ``AGAINST=revision`` measures that revision's build too, in turn.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from booktools.source.book import Book, BookError
from dlperf.environment import environment
from dlperf.measurement import Measurement

REPEATS = 5
TWICE = ("measuring", "parallel", "hardware")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
PREPARE = """
import nbformat, pathlib, sys
try:
    from booktools.executions.prepare import prepare
    from booktools.source.book import Book
    from booktools.source.page import pages_with_cells
except ImportError:  # a revision before these packages
    from booktools.book import Book
    try:
        from booktools.page import pages_with_cells
        from booktools.prepare import prepare
    except ImportError:  # a revision before these modules
        from booktools.execute import pages_with_cells, prepare
book = Book(pathlib.Path.cwd())
for page in pages_with_cells(book):
    path, _ = prepare(book, page)
    record = sorted(book.records.glob(f"*/{page}.ipynb"))[0]
    notebook, recorded = nbformat.read(path, 4), nbformat.read(record, 4)
    cells, done = ([c for c in each.cells if c.cell_type == "code"] for each in (notebook, recorded))
    if len(cells) != len(done):
        sys.exit(f"{record}: has other cells than its page has now; record it anew with make record")
    for cell, twin in zip(cells, done):
        cell.outputs, cell.execution_count = twin.outputs, twin.execution_count
    notebook.metadata["language_info"] = recorded.metadata["language_info"]
    recorded.metadata["dlperf"]["fingerprint"] = notebook.metadata["dlperf"]["fingerprint"]
    nbformat.write(notebook, path)
    nbformat.write(recorded, record)
"""
"""Gives the copy's pages their executions, in the code of the revision that is measured."""


@dataclass(frozen=True)
class Side:
    """A copy of the book, built by the code of one revision."""

    name: str
    book: Book
    code: Path

    def run(self, *command: str) -> None:
        """Runs a command in the copy; BookError with its last words where it fails."""
        environment_ = {**os.environ, "MACHINE": "", "PYTHONPATH": str(self.code)}
        done = subprocess.run(command, cwd=self.book.root, capture_output=True, text=True, env=environment_)
        if done.returncode:
            said = (done.stdout + done.stderr)[-3000:]
            raise BookError(f"{self.name}: {' '.join(command)[:80]} failed:\n{said}")

    def build(self) -> None:
        """Builds the copy as a reader does."""
        self.run(str(Path(sys.executable).with_name("jupyter-book")), "build", ".", "-q")

    def append(self, language: str, text: str) -> None:
        """Adds a paragraph to a chapter, for which another may stand already."""
        path = self.book.page(language, "async")
        source = re.sub(r"\n\n% bench\n.*\Z", "", path.read_text(encoding="utf-8").rstrip(), flags=re.S)
        path.write_text(f"{source}\n\n% bench\n{text}\n", encoding="utf-8")


def bench(book: Book, against: str = "") -> None:
    """Prints wall and CPU time of each kind of build, each the median of `REPEATS`, the sides in turn."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended"))  # so that copies and worktrees go, too
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as worktrees:
        sides = [_side("this revision", book.root, Path(folder) / "this")]
        if against:
            tree = Path(folder) / "tree"
            _git(book.root, "worktree", "add", "--detach", str(tree), against)
            worktrees.callback(_git, book.root, "worktree", "remove", "--force", str(tree))
            sides.append(_side(against, tree, Path(folder) / "against"))
        times: dict[tuple[str, str], list[tuple[float, float]]] = {}
        turns = [(number, side, *each) for number in range(REPEATS) for side in sides for each in _builds(side, number)]
        worktrees.callback(_print, times)  # what there is, also where this is cut off
        for _, side, name, prepare in tqdm(turns, unit="build"):
            prepare()
            took = _timed(side.build)
            times.setdefault((name, side.name), []).append(took)
        print(f"requests to another host: {foreign_requests(sides[0].book.build / 'html')}")


def _print(times: Mapping[tuple[str, str], Sequence[tuple[float, float]]]) -> None:
    for (name, side), pairs in times.items():
        wall, cpu = (Measurement(tuple(values), "s", name, 1, environment()) for values in zip(*pairs, strict=True))
        print(f"{name}, {side}: {wall.summary()}; CPU {cpu.summary()}")


def _builds(side: Side, number: int) -> list[tuple[str, Callable[[], None]]]:
    """Returns what is measured, and what is done before each: the first build of a copy is a cold one."""

    def both() -> None:
        side.append("en", f"Word {'abcdefgh'[number]} is new.")
        side.append("zh", f"新词之{'甲乙丙丁戊己庚辛'[number]}。")

    return [
        ("nothing built yet", lambda: shutil.rmtree(side.book.build, ignore_errors=True)),
        ("nothing changed", lambda: None),
        ("a word changed in both languages", both),
        ("a word changed in Chinese", lambda: side.append("zh", f"又一词之{'甲乙丙丁戊己庚辛'[number]}。")),
    ]


def _timed(build: Callable[[], None]) -> tuple[float, float]:
    """Returns the wall and the CPU time of a build with all its processes, in seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    build()
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


def _side(name: str, tree: Path, target: Path) -> Side:
    """Returns a copy of the book in ``tree`` with eight chapters, ready to be built."""
    for name_ in filter(None, _git(tree, "ls-files", "-z").split("\0")):
        if (tree / name_).is_file() and not name_.startswith("tests/"):
            (target / name_).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree / name_, target / name_)
    for chapter in TWICE:
        for path in [*target.glob(f"chapters/*/{chapter}.md"), *target.glob(f"records/*/{chapter}.ipynb"),
                     target / f"chapters/claims/{chapter}.py"]:  # fmt: skip
            twin = path.with_name(_twin(chapter) + path.suffix)
            twin.write_text(_renamed(path.read_text(encoding="utf-8"), chapter), encoding="utf-8")
    toc = target / "_toc.yml"
    more = "".join(f"  - file: {_twin(chapter)}\n" for chapter in TWICE)
    toc.write_text(toc.read_text(encoding="utf-8").replace("  - file: machines\n", more + "  - file: machines\n"))
    side = Side(name, Book(target), tree / "code")
    side.run(sys.executable, "-c", PREPARE)
    return side


def _renamed(text: str, chapter: str) -> str:
    """Returns a chapter's text with its labels and keys under its twin's name; paths and modules stay."""
    return re.sub(rf"(?<![\w./]){chapter}(?=[.-][a-z])|(?<=\(){chapter}(?=\)=)", _twin(chapter), text)


def _twin(chapter: str) -> str:
    """Returns the name of a chapter's twin, no longer than its own: no line of code becomes too wide."""
    return chapter[:-1] + "2"


def foreign_requests(site: Path) -> int:
    """Returns how many requests all pages of a site together make to any other host, in a real browser."""
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, CHROMIUM)), None)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        tab = browser.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        for page in sorted(site.rglob("*.html")):
            tab.goto(page.as_uri(), wait_until="load")
        browser.close()
    return sum(not url.startswith(("file:", "data:", "blob:")) for url in asked)
