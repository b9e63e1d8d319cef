"""Read executed notebooks: once in a process, with what they say cached for the next.

Checking a notebook against its schema and opening it takes most of a second; nothing of it is done
twice for one content. The outputs themselves are read only where a page is built anew.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from booktools.executions.canary import KEY as CANARY
from booktools.executions.fingerprint import changes, fingerprint
from booktools.executions.short import MARK
from booktools.source.book import Book, BookError
from booktools.source.cache import cached, digest
from booktools.source.kernel import KEY
from booktools.source.keys import check_keys, twice
from booktools.source.notebook import code_cells, glue, is_executed, read_records
from booktools.source.page import source
from booktools.source.short_flag import SHORT

if TYPE_CHECKING:
    from nbformat import NotebookNode


@dataclass(frozen=True)
class Reading:
    """What a notebook says of its execution, without the outputs themselves.

    ``mark`` is what it was executed under: fingerprint, machine, and once it has run environment
    and seconds. ``whole`` says whether every cell ran; ``keys`` are all that it stored, ``records``
    those among them that have a value, and ``twice`` says whether one of them stands for two.
    ``digest`` is that of the file.
    """

    mark: dict[str, Any]
    whole: bool
    keys: frozenset[str]
    records: dict[str, dict[str, Any]]
    twice: bool = False
    digest: str = ""


@dataclass(frozen=True)
class Execution:
    """An execution of a page and what has changed since; its notebook is opened when it is asked for."""

    reading: Reading
    stale: tuple[str, ...]
    opened: Callable[[], NotebookNode]

    @classmethod
    def of(cls, notebook: NotebookNode, stale: tuple[str, ...] = ()) -> Execution:
        """Returns an execution that is in no file."""
        return cls(read(notebook, "a notebook"), stale, lambda: notebook)

    @functools.cached_property
    def notebook(self) -> NotebookNode:
        """The executed notebook itself."""
        return self.opened()

    @property
    def records(self) -> dict[str, dict[str, Any]]:
        """What it recorded: key -> value, unit, environment."""
        return self.reading.records

    @property
    def machine(self) -> dict[str, Any]:
        """The environment it ran in."""
        return dict(self.reading.mark["environment"])

    @property
    def seconds(self) -> float:
        """The time that its cells took, by the kernel's own stamps."""
        return float(self.reading.mark.get("seconds", 0.0))

    @property
    def canary(self) -> dict[str, Any]:
        """What short benchmarks before and after it said (`booktools.executions.canary`); empty where none ran."""
        return dict(self.reading.mark.get(CANARY, {}))


def read(notebook: NotebookNode, name: str, mark: str = "") -> Reading:
    """Returns what a notebook says; BookError names the key of a record that cannot be read."""
    said, records = _plain(notebook.metadata.get(KEY, {})), read_records(notebook, name)
    return Reading(said, is_executed(notebook), frozenset(glue(notebook)), records, bool(twice(notebook)), mark)


def _plain(value: Any) -> Any:
    """Returns a node of a notebook as plain dictionaries and lists."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def open_notebook(path: Path) -> NotebookNode:
    """Returns a notebook of the present format, which `reading` has checked, or is about to."""
    import nbformat

    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def reading(book: Book, path: Path) -> Reading:
    """Returns what the notebook at ``path`` says; BookError where the file is none, whole and readable."""
    status = path.stat()
    return _reading(book, path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=256)
def _reading(book: Book, path: Path, mtime_ns: int, size: int) -> Reading:
    mark = digest(path.read_bytes())
    own = book.records in path.parents or book.notebooks in path.parents

    def validated() -> Reading:
        import nbformat

        try:
            notebook = nbformat.read(path, as_version=4)
            nbformat.validate(notebook)
        except Exception as error:
            raise corrupt(book, path, error) from None
        return read(notebook, book.relative(path), mark)

    return cached(book.cache, f"execution-{book.relative(path)}", mark, validated) if own else validated()


def corrupt(book: Book, path: Path, error: Exception) -> BookError:
    """Returns the error that names a record which cannot be used."""
    reason = str(error).strip().partition("\n")[0] or type(error).__name__
    return BookError(
        f"{book.relative(path)}: this record is corrupt or cut off ({type(error).__name__}: {reason}); "
        "restore it from git or record it again with make record"
    )


def load_execution(book: Book, path: Path, page: str) -> Execution:
    """Returns a recorded execution of ``page``; BookError where the file is not one, whole, readable and in full."""
    said = reading(book, path)
    if said.mark.get(MARK):
        raise BookError(
            f"{book.relative(path)}: a short execution, which measured nothing that may be shown or recorded; "
            f"execute the page in full, without {SHORT} in the environment"
        )
    try:
        said.mark["fingerprint"]["cells"], said.mark["environment"]["cpu"]
    except (KeyError, TypeError) as error:
        raise corrupt(book, path, error) from None
    if said.twice:
        check_keys(book, page, open_notebook(path), path)
    now = fingerprint(book, source(book, page))
    return Execution(said, tuple(changes(said.mark["fingerprint"], now)), lambda: open_notebook(path))


def execution(book: Book, page: str) -> Execution | None:
    """Returns this machine's execution of a page if it is at hand and still the page's."""
    path = book.notebooks / f"{page}.ipynb"
    if not path.is_file() or not source(book, page).cells:
        return None
    if "environment" not in reading(book, path).mark:
        stamp(path)
        if "environment" not in reading(book, path).mark:
            return None  # It was prepared, and not executed yet.
    found = load_execution(book, path, page)
    return None if found.stale or not found.reading.whole else found


def stamp(path: Path) -> None:
    """Adds to an executed notebook the environment and time that its own outputs tell; idempotent.

    So an execution by nbmake, which knows nothing of the book, is as good as the build's.
    """
    notebook = open_notebook(path)
    mark = notebook.metadata.get(KEY)
    if not mark or "environment" in mark or not is_executed(notebook):
        return
    environments = [r["environment"] for r in read_records(notebook, path.name).values() if r["environment"]]
    mark["environment"] = environments[-1] if environments else mark["machine"]
    mark["seconds"] = _seconds(notebook)
    write_notebook(notebook, path)


def _seconds(notebook: NotebookNode) -> float:
    total = 0.0
    for cell in code_cells(notebook):
        times: dict[str, Any] = cell.metadata.get("execution", {})
        if "iopub.execute_input" in times and "shell.execute_reply" in times:
            begin, end = (datetime.fromisoformat(times[k]) for k in ("iopub.execute_input", "shell.execute_reply"))
            total += (end - begin).total_seconds()
    return round(total, 1)


def expected_seconds(book: Book, page: str) -> float | None:
    """Returns the longest that a recorded machine took for this page, or None where none has."""
    found = []
    for path in sorted(book.records.glob(f"*/{page}.ipynb")):
        with contextlib.suppress(BookError, KeyError):
            found.append(float(reading(book, path).mark["seconds"]))
    return max(found, default=None)


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Writes a notebook whole or not at all."""
    import nbformat

    temporary = path.with_suffix(".part")
    nbformat.write(notebook, temporary)
    temporary.replace(path)
