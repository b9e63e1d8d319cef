"""Executing the pages that need it, with progress, limits, and errors that name the line."""

from __future__ import annotations

import os
import re
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from booktools.book import Book, BookError
from booktools.keys import check_keys
from booktools.notebook import (
    KEY,
    Execution,
    cell_lines,
    code_cells,
    fingerprint,
    is_executed,
    load_execution,
    read_page,
)
from dlperf.budget import VARIABLE
from dlperf.environment import compiler, machine

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def has_cells(book: Book, page: str) -> bool:
    """Returns whether there is anything to execute on a page."""
    return bool(code_cells(read_page(book.page(book.languages[0].code, page))))


def pages_with_cells(book: Book) -> list[str]:
    """Returns the pages that are executed, in reading order."""
    return [page for page in book.pages if has_cells(book, page)]


def prepare(book: Book, page: str) -> tuple[Path, bool]:
    """Writes a page as a notebook to execute, unless an execution of it is at hand; returns its path and whether.

    The default language's cells are the page's cells: all languages share them.
    """
    source = book.page(book.languages[0].code, page)
    notebook = read_page(source)
    try:
        mark = {"fingerprint": fingerprint(book, notebook), "machine": machine()}
    except BookError as error:
        raise BookError(f"{book.relative(source)}: {error}") from None
    path = book.notebooks / f"{page}.ipynb"
    if path.is_file():
        try:
            old = nbformat.read(path, as_version=4)
        except Exception:
            old = nbformat.v4.new_notebook()  # Cut off half-way: as good as none.
        kept = {name: old.metadata.get(KEY, {}).get(name) for name in mark}
        if kept == mark and is_executed(old):
            return path, True
    notebook.metadata[KEY] = mark
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(notebook, path)
    return path, False


def execution(book: Book, page: str) -> Execution | None:
    """Returns this machine's execution of a page if it is at hand and still the page's."""
    path = book.notebooks / f"{page}.ipynb"
    if not path.is_file() or not has_cells(book, page):
        return None
    stamp(path)
    found = load_execution(book, path, page)
    return None if found.stale or not is_executed(found.notebook) else found


def execute_stale(book: Book) -> list[str]:
    """Executes every page that has no valid execution on this machine; returns their names."""
    pages = pages_with_cells(book)
    prepared = [(page, *prepare(book, page)) for page in pages]
    waiting = [(page, path) for page, path, done in prepared if not done]
    if waiting and compiler() is None:
        raise BookError(
            "no C++ compiler was found, which torch.compile needs: install g++ or clang++, or name yours in CXX; "
            "without one, make book MACHINE=name shows a recorded machine's edition"
        )
    for number, (page, path) in enumerate(waiting, 1):
        execute(book, page, path, f"[{number}/{len(waiting)}]")
    return [page for page, _ in waiting]


def execute(book: Book, page: str, path: Path, prefix: str = "") -> None:
    """Executes one prepared notebook in place; BookError names the page and line of what went wrong."""
    notebook = nbformat.read(path, as_version=4)
    lines = cell_lines(notebook)
    progress = Progress(f"{prefix} {page}", len(lines), expected_seconds(book, page))
    index = 0

    def started(cell: NotebookNode, cell_index: int) -> None:
        nonlocal index
        if cell.cell_type == "code":
            index = sum(c.cell_type == "code" for c in notebook.cells[:cell_index])
            progress.show(index + 1)

    client = NotebookClient(
        notebook,
        timeout=book.timeout,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_start=started,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
    )
    source = book.relative(book.page(book.languages[0].code, page))
    try:
        client.execute(env={**os.environ, VARIABLE: str(book.timeout)})
    except CellTimeoutError:
        raise BookError(
            f"{source}:{lines[index]}: this cell ran past its limit of {book.timeout} s (timeout in _config.yml)"
        ) from None
    except CellExecutionError as error:
        raise BookError(
            f"{source}:{lines[index]}: this cell raised {error.ename}: {error.evalue}\n{_tail(error)}"
        ) from None
    except DeadKernelError:
        raise BookError(f"{source}:{lines[index]}: the kernel died in this cell; was there memory enough?") from None
    except RuntimeError as error:  # The kernel did not start.
        raise BookError(f"{source}: no cell was executed: {error}") from None
    progress.done()
    _write(notebook, path)
    stamp(path)
    check_keys(book, page, notebook, path)


def _tail(error: CellExecutionError) -> str:
    lines = _ANSI.sub("", error.traceback).splitlines()
    return "\n".join("    " + line for line in lines[-15:])


def stamp(path: Path) -> None:
    """Adds to an executed notebook the environment and time that its own outputs tell; idempotent.

    So an execution by nbmake, which knows nothing of the book, is as good as the build's.
    """
    notebook = nbformat.read(path, as_version=4)
    kept = notebook.metadata.get(KEY)
    if not kept or "environment" in kept or not is_executed(notebook):
        return
    from booktools.records import read_records

    environments = [r["environment"] for r in read_records(notebook, path.name).values() if r["environment"]]
    kept["environment"] = environments[-1] if environments else kept["machine"]
    kept["seconds"] = _seconds(notebook)
    _write(notebook, path)


def _seconds(notebook: NotebookNode) -> float:
    total = 0.0
    for cell in code_cells(notebook):
        times: dict[str, Any] = cell.metadata.get("execution", {})
        if "iopub.execute_input" in times and "shell.execute_reply" in times:
            begin, end = (datetime.fromisoformat(times[k]) for k in ("iopub.execute_input", "shell.execute_reply"))
            total += (end - begin).total_seconds()
    return round(total, 1)


def expected_seconds(book: Book, page: str) -> float | None:
    """Returns how long a recorded machine took for this page, or None where none has."""
    for path in sorted(book.records.glob(f"*/{page}.ipynb")):
        try:
            return float(nbformat.read(path, as_version=4).metadata[KEY]["seconds"])
        except Exception:
            continue
    return None


def _write(notebook: NotebookNode, path: Path) -> None:
    temporary = path.with_suffix(".part")
    nbformat.write(notebook, temporary)
    temporary.replace(path)


class Progress:
    """A line that says which page and cell is executing, for how long, and how long it may take."""

    def __init__(self, title: str, cells: int, expected: float | None) -> None:
        self.title, self.cells = title, cells
        self.about = f" of about {clock(expected)}" if expected else ""
        self.start = time.monotonic()
        self.live = sys.stderr.isatty()
        self.shown = -10.0

    def show(self, cell: int) -> None:
        """Tells that ``cell`` has started; on a log file at most every ten seconds."""
        elapsed = time.monotonic() - self.start
        if self.live or elapsed - self.shown >= 10:
            self.shown = elapsed
            line = f"executing {self.title}: cell {cell} of {self.cells}, {clock(elapsed)}{self.about}"
            print(f"\r\x1b[K{line}" if self.live else line, end="" if self.live else "\n", file=sys.stderr, flush=True)

    def done(self) -> None:
        """Tells that the page is done and what it took."""
        start = "\r\x1b[K" if self.live else ""
        elapsed = clock(time.monotonic() - self.start)
        print(f"{start}executed {self.title}: {self.cells} cells in {elapsed}", file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """Returns a time in seconds as minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
