"""Record a machine: keep its executed notebooks as `records/<name>/`."""

from __future__ import annotations

import copy
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from booktools.checks.check import check
from booktools.claims.outcomes import unconditional
from booktools.commands import privacy
from booktools.executions import canary
from booktools.executions.execute import execute_watched
from booktools.executions.executions import Execution, load_execution, stamp
from booktools.executions.prepare import prepare
from booktools.executions.records import HERE, SHOWN, borrow, page_of, recorded_machines
from booktools.source.book import Book, BookError
from booktools.source.kernel import KEY
from booktools.source.notebook import cell_lines, code_cells, glue, read_records
from booktools.source.page import pages_with_cells

TRIES = 3
"""How often a page is executed, at most, until the machine is itself."""


def without_warnings(path: Path) -> NotebookNode:
    """Returns an executed notebook without what its cells wrote to the error stream: it names files of this machine.

    Where its other outputs name this machine, its user or their folders, something else stands there; a word that the
    page itself says is none of these.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in code_cells(notebook):
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    privacy.hide_names(notebook, privacy.names())
    return notebook


def record_machine(book: Book, name: str, only: Sequence[str] = (), anyway: bool = False) -> None:
    """Executes every page here, or ``only`` some, anew, and keeps the result under ``name``.

    A page is executed again, three times at most, until the clocks of the `canary` say that the machine was itself.
    BookError names those for which it never was, unless they are to be kept ``anyway``, and what else is wrong. Nothing
    of an earlier record is touched then.
    """
    _named_well(name)
    check(book)
    known = pages_with_cells(book)
    if unknown := [page for page in only if page not in known]:
        raise BookError(f"{', '.join(unknown)}: no page with cells; there are {', '.join(known)}")
    done = _quiet(book, only or known, _songs(book, name, only), anyway)
    if only:
        done = {page: nbformat.read(path, as_version=4) for page, path in _earlier(book, name, known)} | done
    _keep(book, name, done)


def _earlier(book: Book, name: str, pages: Iterable[str]) -> list[tuple[str, Path]]:
    paths = [(page, book.records / name / f"{page}.ipynb") for page in pages]
    return [(page, path) for page, path in paths if path.exists()]


def _songs(book: Book, name: str, only: Sequence[str]) -> list[dict[str, Any]]:
    """Returns what the clocks said when the pages were recorded that stay."""
    notebooks = [
        nbformat.read(path, as_version=4)
        for page, path in _earlier(book, name, pages_with_cells(book))
        if only and page not in only
    ]
    return [each.metadata[KEY][canary.KEY] for each in notebooks if canary.KEY in each.metadata.get(KEY, {})]


def _quiet(book: Book, pages: Sequence[str], others: Sequence[dict[str, Any]], anyway: bool) -> dict[str, NotebookNode]:
    """Returns an execution of each page, with what the clocks said at both ends, near the best of all (or not)."""
    songs: dict[str, dict[str, Any]] = {}
    for tried in range(1, TRIES + 1):
        restless = list(_restless(songs, others) if songs else pages)
        for number, page in enumerate(restless, 1):
            print(f"try {tried} of {TRIES}, {page} ({number} of {len(restless)})", file=sys.stderr)
            songs[page] = _watched(book, page)
    if left := _restless(songs, others):
        told = _told(left)
        if not anyway:
            raise BookError(f"the machine was not itself; stop what else runs on it, and record again:\n{told}")
        print(f"the machine was not itself, which the record tells:\n{told}")
    return {page: without_warnings(book.notebooks / f"{page}.ipynb") for page in pages}


def _restless(songs: Mapping[str, dict[str, Any]], others: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Returns the pages whose clocks are not near the best of this machine, with why."""
    at_best = canary.best([*songs.values(), *others])
    found = {page: canary.unsettled(song, at_best) for page, song in songs.items()}
    return {page: why for page, why in found.items() if why}


def _told(restless: Mapping[str, list[str]]) -> str:
    return "\n".join(f"{page}: {'; '.join(why)}" for page, why in restless.items())


def _watched(book: Book, page: str) -> dict[str, Any]:
    """Executes a page, and returns what the clocks said, which its notebook keeps."""
    path, _ = prepare(book, page)
    return execute_watched(book, page, path, page)


def take_in(book: Book, name: str, folder: Path) -> None:
    """Keeps under ``name`` what a kit executed elsewhere and left in ``folder``.

    All pages or none: BookError names every file that is not a whole execution of its page as it is
    now, by one machine, and nothing is changed.
    """
    _named_well(name)
    problems: list[str] = []
    done: dict[str, Execution] = {}
    with tempfile.TemporaryDirectory() as work:
        for page in pages_with_cells(book):
            try:
                done[page] = _whole(book, folder / f"{page}.ipynb", Path(work), page)
            except BookError as error:
                problems.append(str(error))
        problems = problems or _of_several_machines(done) or _measured_nowhere(book, name, done)
        if problems:
            raise BookError("\n".join([*problems, f"Nothing was taken in: records/{name} is as it was."]))
        songs = {page: each.reading.mark[canary.KEY] for page, each in done.items() if canary.KEY in each.reading.mark}
        if left := _restless(songs, []):
            print(f"the machine was not itself, which the record tells:\n{_told(left)}")
        _keep(book, name, {page: without_warnings(Path(work) / f"{page}.ipynb") for page in done})


def _named_well(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) or name == HERE:
        raise BookError(
            f"MACHINE={name!r}: a machine's name is lower-case letters, digits and hyphens, such as cpu-2-cores-intel"
        )


def _whole(book: Book, path: Path, work: Path, page: str) -> Execution:
    """Returns the execution that a kit left in a file, copied to ``work`` and stamped; BookError says what it lacks."""
    again = "execute it again with kit/run.py"
    if not path.is_file():
        raise BookError(f"{path}: no such file: a record has every chapter with cells; execute it with kit/run.py")
    try:
        notebook = nbformat.read(path, as_version=4)
        lines = cell_lines(notebook)
        notebook.metadata[KEY]["fingerprint"], notebook.metadata[KEY]["machine"]["gpus"]
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise BookError(f"{path}: no notebook of a kit ({type(error).__name__}: {reason}); {again}") from None
    for line, cell in zip(lines, code_cells(notebook), strict=True):
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if errors and "raises-exception" not in cell.metadata.get("tags", []):
            raised = f"this cell raised {errors[0].ename}: {errors[0].evalue}"
            raise BookError(f"{path}: {page}.md:{line}: {raised}; mend it, make kit, and {again}")
        if cell.get("execution_count") is None:
            raise BookError(f"{path}: {page}.md:{line}: this cell never ran; {again}")
    shutil.copy(path, work)
    stamp(work / path.name)
    found = load_execution(book, work / path.name, page)
    read_records(found.notebook, str(path))
    if found.stale:
        raise BookError(f"{path}: changed here since it was executed: {', '.join(found.stale)}; make kit, and {again}")
    return found


def _of_several_machines(done: dict[str, Execution]) -> list[str]:
    """Returns what is wrong where not all pages were executed by machines of one kind; else nothing."""
    kinds: dict[str, list[str]] = {}
    for page, execution in done.items():
        machine = execution.notebook.metadata[KEY]["machine"]
        kinds.setdefault(", ".join([f"{machine['cores']} × {machine['cpu']}", *machine["gpus"]]), []).append(page)
    told = "; ".join(f"{', '.join(pages)} on {kind}" for kind, pages in kinds.items())
    return [f"executed on several machines: {told}; a record is of one"] if len(kinds) > 1 else []


def _measured_nowhere(book: Book, name: str, done: dict[str, Execution]) -> list[str]:
    """Returns the keys that pages show and no machine has; prints those that will be borrowed, and from whom."""
    others = [machine for machine in recorded_machines(book) if machine.name != name]
    problems = []
    for page, execution in done.items():
        notebook = copy.deepcopy(execution.notebook)
        lenders = borrow(notebook, page, others)
        for lender in dict.fromkeys(lenders.values()):
            keys = ", ".join(key for key, whose in lenders.items() if whose == lender)
            print(f"{page}: not measured there, borrowed from {lender}: {keys}")
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        shown = {key for key in SHOWN.findall(unconditional(text)) if page_of(key) == page and not key.endswith(".md")}
        nowhere = sorted(shown - glue(notebook).keys())
        if nowhere:
            problems.append(
                f"{page}: shown, and measured neither there nor on a recorded machine: {', '.join(nowhere)}"
            )
    return problems


def _keep(book: Book, name: str, notebooks: dict[str, NotebookNode]) -> None:
    """Writes a record aside, and sets it in the place of an earlier one when it is whole and can be read."""
    folder = book.records / name
    book.records.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=book.root, prefix=".record-") as work:
        part = Path(work) / name
        for page, notebook in notebooks.items():
            target = part / f"{page}.ipynb"
            target.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, target)
            load_execution(book, target, page)
        if folder.exists():
            folder.rename(Path(work) / "earlier")
        part.rename(folder)
    print(
        f"{book.relative(folder)}: {len(notebooks)} page(s) recorded; "
        f"see them with make book MACHINE={name}, then commit"
    )
