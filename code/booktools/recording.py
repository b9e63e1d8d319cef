"""Keeping what a machine measured as `records/<name>/`: the executed notebooks themselves."""

from __future__ import annotations

import copy
import re
import shutil
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from booktools.book import Book, BookError
from booktools.check import check
from booktools.execute import execute
from booktools.executions import Execution, load_execution, stamp
from booktools.notebook import KEY, cell_lines, code_cells, glue, read_records
from booktools.outcomes import unconditional
from booktools.page import pages_with_cells
from booktools.prepare import prepare
from booktools.records import HERE, SHOWN, borrow, page_of, recorded_machines


def without_warnings(path: Path) -> NotebookNode:
    """Returns an executed notebook without what its cells wrote to the error stream: it names files of this machine."""
    notebook = nbformat.read(path, as_version=4)
    for cell in code_cells(notebook):
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def record_machine(book: Book, name: str) -> None:
    """Executes every page here, anew, and keeps the result under ``name``.

    Nothing of an earlier record is touched until every page has run.
    """
    _named_well(name)
    check(book)
    pages = pages_with_cells(book)
    for number, page in enumerate(pages, 1):
        path, _ = prepare(book, page)
        execute(book, page, path, f"[{number}/{len(pages)}]")
    _keep(book, name, {page: without_warnings(book.notebooks / f"{page}.ipynb") for page in pages})


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
