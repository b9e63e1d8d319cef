"""Read from executed notebooks what was measured, on this machine and on every named one."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from booktools.executions import canary
from booktools.executions.executions import Execution, execution, load_execution
from booktools.source.blocks import directives
from booktools.source.book import Book, BookError
from booktools.source.notebook import code_cells, glue, stored
from booktools.source.tokens import code

if TYPE_CHECKING:
    from nbformat import NotebookNode

HERE = "this"
"""The name of the machine that builds, beside those under `records/`."""


@dataclass(frozen=True)
class Machine:
    """A machine and its executions of the pages: a folder under `records/`, or the one that builds."""

    name: str
    executions: Mapping[str, Execution]

    @functools.cached_property
    def environment(self) -> dict[str, Any]:
        """The environment of its latest execution; empty when it has none."""
        found = [e.machine for e in self.executions.values()]
        return max(found, key=lambda e: str(e.get("date", "")), default={})

    @functools.cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        """Every record of every page: key -> value, unit, environment."""
        merged: dict[str, dict[str, Any]] = {}
        for done in self.executions.values():
            merged |= done.records
        return merged

    @functools.cached_property
    def slowdowns(self) -> dict[str, float]:
        """By page: how far above this machine's best the slowest benchmark of the canary around it was."""
        songs = {page: done.canary for page, done in self.executions.items() if done.canary}
        at_best = canary.best(songs.values())
        return {page: canary.slowest(song, at_best) for page, song in songs.items()}

    def execution(self, page: str) -> Execution | None:
        """Returns its execution of a page, if it has one."""
        return self.executions.get(page)

    def changed(self) -> tuple[str, ...]:
        """Returns what has changed since it was recorded, over all pages."""
        return tuple(sorted({name for done in self.executions.values() for name in done.stale}))

    def stale(self, key: str) -> tuple[str, ...]:
        """Returns what has changed since the page of ``key`` was executed; empty when nothing has."""
        page = page_of(key)
        return self.executions[page].stale if page in self.executions else ()

    def has(self, need: str) -> bool:
        """Returns whether the machine has what a claim needs: cuda, compiler, linux, devices>=n, cores>=n."""
        environment = self.environment
        if need == "cuda":
            return bool(environment.get("gpus")) and environment.get("accelerator", "cuda") == "cuda"
        if need == "compiler":
            return bool(environment.get("compiler"))
        if need == "linux":
            return str(environment.get("os")).startswith("Linux")
        if counted := re.fullmatch(r"(devices|cores)>=(\d+)", need):
            have = len(environment.get("gpus", [])) if counted[1] == "devices" else environment.get("cores", 1)
            return int(have) >= int(counted[2])
        raise BookError(f"unknown need {need!r}: cuda, compiler, linux, devices>=n or cores>=n would do")


SHOWN = re.compile(r"\{glue(?::\w+)?\}[` ]([\w.-]+)")
"""A key that the text of a page shows, wherever it does."""

FAILING = directives("failed")
"""Text for where a claim failed: where its measurement is lacking it was not run, and nobody reads that."""

BORROWED = "This machine cannot run this experiment. What the page shows of it was measured on another:"
PARTLY = "This machine cannot run a part of this experiment. What the page shows of that part was measured on another:"


def borrow(page: NotebookNode, name: str, machines: Iterable[Machine]) -> dict[str, str]:
    """Gives the cells of a page what its text shows, this machine could not record, and one of ``machines`` has.

    A cell that borrows what is read says so in an output of its own. Returns the name of the lender of each key.
    """
    import nbformat

    text = "\n".join(cell.source for cell in page.cells if cell.cell_type == "markdown")
    read = set(SHOWN.findall(FAILING.sub("", text)))
    lenders: dict[str, str] = {}
    for machine in machines:
        missing = set(SHOWN.findall(text)) - glue(page).keys()
        done = machine.execution(name) if missing else None
        if done is None or not missing & done.reading.keys:
            continue
        theirs = {code(cell.source): cell.outputs for cell in code_cells(done.notebook)}
        for cell in code_cells(page):
            lent = [output for output in theirs.get(code(cell.source), []) if stored(output) in missing]
            if any(stored(output) in read for output in lent):
                said = PARTLY if any(stored(output) in read for output in cell.outputs) else BORROWED
                note = {"text/html": f'<p class="dl-borrowed"><span>{said}</span><code>{machine.name}</code></p>'}
                cell.outputs = [*cell.outputs, nbformat.v4.new_output("display_data", note)]
            if lent:
                cell.outputs = [*cell.outputs, *lent]
                lenders |= {stored(output): machine.name for output in lent}
    return lenders


def page_of(key: str) -> str:
    """Returns the page that records ``key``: the part before its first dot."""
    return key.partition(".")[0]


def recorded_machines(book: Book) -> list[Machine]:
    """Returns every machine under `records/`, by name; BookError names a record that cannot be read."""
    machines = []
    for folder in sorted(p for p in book.records.glob("*") if p.is_dir()):
        paths = {page: folder / f"{page}.ipynb" for page in book.pages}
        done = {page: load_execution(book, path, page) for page, path in paths.items() if path.is_file()}
        machines.append(Machine(folder.name, done))
    return machines


def this_machine(book: Book) -> Machine:
    """Returns the machine that builds, with the executions that are at hand."""
    found = {page: execution(book, page) for page in book.pages}
    return Machine(HERE, {page: done for page, done in found.items() if done})


def all_machines(book: Book, edition: str = HERE) -> list[Machine]:
    """Returns the recorded machines, led by the one that builds unless the edition is a record's.

    A record of this very build is left out, since it would say everything twice.
    """
    recorded = recorded_machines(book)
    if edition != HERE:
        return recorded
    here = this_machine(book)
    return [here, *(machine for machine in recorded if not _is_of(here, machine))]


def _is_of(here: Machine, machine: Machine) -> bool:
    """Returns whether a record consists of executions of the machine that builds, and of all of them."""
    when = lambda one: {page: done.reading.mark for page, done in one.executions.items()}
    return bool(here.executions) and when(here) == when(machine)
