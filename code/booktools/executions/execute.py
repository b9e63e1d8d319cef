"""Execute the pages that need it, with progress, limits, and errors that name the line."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from tqdm import tqdm

from booktools.executions import canary
from booktools.executions.executions import expected_seconds, open_notebook, stamp, write_notebook
from booktools.source.book import Book, BookError
from booktools.source.kernel import ANSI, KEY, TIMEOUTS
from booktools.source.keys import check_keys
from booktools.source.page import Cell, source
from booktools.source.short_flag import SHORT, is_short
from dlperf.budget import VARIABLE
from dlperf.environment import compiler

SEVERAL = 3
"""From so many pages on, the canary is asked around each: whoever changes one page need not wait for it."""
_FRAME = re.compile(r"^\s*Cell In\[(\d+)\], line (\d+)", re.M)


def check_compiler() -> None:
    """Raises BookError where `torch.compile` would lack the C++ compiler, or Python's headers for what it compiles."""
    otherwise = "without, make book MACHINE=name shows a recorded machine's edition"
    if compiler() is None:
        raise BookError(
            "no C++ compiler was found, which torch.compile needs: install g++ or clang++, or name yours in CXX; "
            f"{otherwise}"
        )
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        raise BookError(
            f"{header} is not there, which torch.compile needs: install Python's headers (Debian's and Ubuntu's "
            f"package is python3-dev); {otherwise}"
        )


def execute_all(book: Book, pages: list[tuple[str, Path]]) -> None:
    """Executes prepared pages, one after another; of several, each keeps what the `canary` said around it."""
    check_compiler()
    last: canary.Clocks | None = None
    for number, (page, path) in enumerate(pages, 1):
        prefix = f"[{number}/{len(pages)}]"
        if len(pages) < SEVERAL:
            execute(book, page, path, prefix)
        else:
            last = execute_watched(book, page, path, prefix, last)["after"]


def execute_watched(
    book: Book, page: str, path: Path, prefix: str = "", before: canary.Clocks | None = None
) -> dict[str, Any]:
    """Executes a page, and returns what the `canary` said at both ends, which its notebook keeps."""
    try:
        song = canary.watched(lambda: execute(book, page, path, prefix), before)
    except canary.CanaryError as error:
        raise BookError(str(error)) from None
    notebook = open_notebook(path)
    notebook.metadata[KEY][canary.KEY] = song
    write_notebook(notebook, path)
    return song


def execute(book: Book, page: str, path: Path, prefix: str = "") -> None:
    """Executes one prepared notebook in place; BookError names the page and line of what went wrong."""
    if is_short():
        raise BookError(f"{SHORT} is set: only tests execute in short; unset it, and what is measured may be shown")
    notebook = open_notebook(path)
    for told in ("environment", "seconds", canary.KEY):  # by an execution before this one
        notebook.metadata[KEY].pop(told, None)
    current = source(book, page)
    name, cells = book.relative(current.path), current.cells
    index = 0

    with progress(f"{prefix} {page}".strip(), len(cells), expected_seconds(book, page)) as shown:

        def started(cell: NotebookNode, cell_index: int) -> None:
            nonlocal index
            if cell.cell_type == "code":
                index = sum(c.cell_type == "code" for c in notebook.cells[:cell_index])
                shown.update()

        client = NotebookClient(
            notebook,
            timeout=book.timeout,
            **TIMEOUTS,
            kernel_name="python3",
            resources={"metadata": {"path": str(path.parent)}},
            on_cell_start=started,
            extra_arguments=["--IPKernelApp.log_level=CRITICAL"],
        )
        try:
            _run(client, {**os.environ, VARIABLE: str(book.timeout)})
        except CellTimeoutError:
            raise BookError(
                f"{name}:{cells[index].line}: this cell ran past its limit of {book.timeout} s (timeout in _config.yml)"
            ) from None
        except CellExecutionError as error:
            line = raised_at(error, cells[index])
            raise BookError(f"{name}:{line}: this cell raised {error.ename}: {error.evalue}\n{_tail(error)}") from None
        except DeadKernelError:
            line = cells[index].line
            raise BookError(f"{name}:{line}: the kernel died in this cell; was there memory enough?") from None
        except RuntimeError as error:  # The kernel did not start.
            raise BookError(f"{name}: no cell was executed: {error}") from None
    write_notebook(notebook, path)
    stamp(path)
    check_keys(book, page, notebook, path)


def _run(client: NotebookClient, environment: dict[str, str]) -> None:
    """Executes a notebook; where Ctrl-C ends it, KeyboardInterrupt once its kernel is gone.

    It runs in a thread of its own: in the main one nbclient would answer the signal itself, and fail over it.
    """
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(client.execute, env=environment)
        try:
            running.result()
        except KeyboardInterrupt:
            while not running.done():  # its kernel may not have been started yet
                kernel = getattr(getattr(client.km, "provisioner", None), "process", None)
                if kernel is not None:
                    kernel.kill()
                wait([running], timeout=0.1)
            raise


def raised_at(error: CellExecutionError, cell: Cell) -> int:
    """Returns the line of the page at which a cell raised: the innermost line of its own in the traceback."""
    frames = _FRAME.findall(ANSI.sub("", error.traceback))
    own = [int(line) for number, line in frames if number == frames[0][0]]
    return cell.line + (own[-1] - 1 if own else 0)


def _tail(error: CellExecutionError) -> str:
    lines = ANSI.sub("", error.traceback).splitlines()
    return "\n".join("    " + line for line in lines[-15:])


def progress(title: str, cells: int, expected: float | None) -> tqdm:
    """Returns what tells which page and cell is executing and for how long; in a log, at most every ten seconds."""
    about = f" of about {tqdm.format_interval(expected)}" if expected else ""
    return tqdm(
        total=cells,
        desc=title,
        bar_format="executing {desc}: cell {n_fmt} of {total_fmt}, {elapsed}" + about,
        mininterval=0.1 if sys.stderr.isatty() else 10,
        file=sys.stderr,
    )
