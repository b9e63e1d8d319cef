"""Executing a page on simulated GPUs: its own cells, in a kernel of their own, in a copy of the book."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from rehearsal.left_out import as_if_rehearsed
from rehearsal.loader import LINES, REACHED
from rehearsal.selection import ASKED, COUNTED, COUNTING, USING, needed

from booktools.executions import short
from booktools.executions.execute import TIMEOUTS
from booktools.executions.executions import stamp
from booktools.executions.prepare import prepare
from booktools.source.book import Book
from booktools.source.notebook import code_cells, read_records

GPU = Path(__file__).resolve().parents[1]
ROOT = GPU.parents[1]
LIMIT = 2400
"""Seconds for one cell: it only ends a hang."""


@dataclass(frozen=True)
class Rehearsal:
    """A page that was executed: ``error`` if a cell raised, races, lines reached, seconds by cell.

    ``using`` are the numbers of the cells that use a GPU, ``counting`` of those that count them, ``left_out`` of those
    that were not rehearsed.
    """

    page: str
    notebook: Path
    error: str
    races: list[str]
    reached: set[str]
    seconds: dict[int, float]
    using: set[int]
    counting: set[int]
    left_out: set[int]


def copy_of_the_book(folder: Path) -> Book:
    """Returns a book in ``folder`` with this one's pages, code and configuration, and nothing that was executed."""
    for name in ("_config.yml", "_toc.yml", "requirements.txt", "CITATION.cff"):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder)
    for name in ("chapters", "code"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return Book(folder)


def variables(folder: Path, lines: Path, library: Path | None, devices: int) -> dict[str, str]:
    """Returns the environment of a rehearsal's processes, which keep their notes in ``folder``.

    Without a ``library`` there is no GPU. What compilers and Numba made stays for the next rehearsal.
    """
    profile = folder / "ipython" / "profile_default" / "startup"
    profile.mkdir(parents=True, exist_ok=True)
    shutil.copy(GPU / "rehearsal" / "startup.py", profile / "rehearsal.py")
    kept = ROOT / "_build" / "gpu"
    gpu = {
        "SIMULATED_CUDA_LIBRARY": str(library),
        "SIMULATED_CUDA_DEVICES": str(devices),
        "SIMULATED_CUDA_MIB": "12288",
        "SIMULATED_CUDA_MOST_MFLOP": "50",
        "SIMULATED_CUDA_MOST_KILOELEMENTS": "1000",
    }
    return {
        **{name: value for name, value in os.environ.items() if name not in ("CUDA_HOME", "CUDA_PATH")},
        **(gpu if library else {}),
        "SIMULATED_CUDA_RACES": str(folder / "races"),
        "SIMULATED_CUDA_USED": str(folder / "used"),
        ASKED: str(folder / "asked"),
        COUNTED: str(folder / "counted"),
        USING: str(folder / "using"),
        COUNTING: str(folder / "counting"),
        LINES: str(lines),
        REACHED: str(folder / "reached"),
        short.KEPT: str(lines.parent / "kept"),
        "PYTHONPATH": os.pathsep.join((str(GPU / "site"), str(ROOT / "code"))),
        "IPYTHONDIR": str(folder / "ipython"),
        "TORCHINDUCTOR_CACHE_DIR": str(kept / "inductor"),
        "NUMBA_CACHE_DIR": str(kept / "numba"),
        **short.ENVIRONMENT,
    }


def rehearse(
    book: Book,
    page: str,
    folder: Path,
    given: dict[str, str],
    only: set[int] | None = None,
    keep_going: bool = False,
    instead: Mapping[int, nbformat.NotebookNode] | None = None,
) -> Rehearsal:
    """Returns what came of a page of ``book`` in the environment ``given``; its notebook is in ``folder``.

    With ``only`` it leaves out the code cells that these, by their numbers, do not need, and always those of
    ``instead``, which gives cells that were executed elsewhere: the notebook then has these. It stops at the first
    cell that raises, unless it is to ``keep_going``.
    """
    path, _ = prepare(book, page)
    notebook = nbformat.read(path, as_version=4)
    cells = code_cells(notebook)
    instead = instead or {}
    kept = set(range(len(cells))) if only is None else needed([cell.source for cell in cells], only)
    chosen, whole = sorted(kept - instead.keys()), notebook.cells
    left_out = [id(cell) for number, cell in enumerate(cells) if number not in chosen]
    notebook.cells = [cell for cell in whole if id(cell) not in left_out]
    begun: list[float] = []
    client = NotebookClient(
        notebook,
        timeout=LIMIT,
        **TIMEOUTS,
        kernel_name="python3",
        allow_errors=keep_going,
        resources={"metadata": {"path": str(folder)}},
        on_cell_execute=lambda **_: begun.append(time.monotonic()),
    )
    error = ""
    try:
        if chosen:  # a kernel starts for no less
            client.execute(env=given)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as failed:
        error = f"{page}, cell {chosen[len(begun) - 1]}: {failed}"
    ends = [*begun[1:], time.monotonic()]
    for cell in notebook.cells:  # as a record keeps it: warnings name files of this machine
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    if instead:
        environments = [each["environment"] for each in read_records(notebook, page).values() if each["environment"]]
        there = as_if_rehearsed(instead, environments[-1] if environments else {})
        others = {id(cells[number]): cell for number, cell in there.items()}
        rehearsed = list(map(id, notebook.cells))
        notebook.cells = [others.get(id(cell), cell) for cell in whole if id(cell) in (*rehearsed, *others)]
    target = folder / f"{page}.ipynb"
    nbformat.write(notebook, target)
    stamp(target)
    read = lambda name: (folder / name).read_text().splitlines() if (folder / name).exists() else []
    spent = {number: end - start for number, start, end in zip(chosen, begun, ends, strict=False)}
    using, counting = ({chosen[int(number)] for number in read(name)} for name in ("using", "counting"))
    return Rehearsal(page, target, error, read("races"), set(read("reached")), spent, using, counting, set(instead))
