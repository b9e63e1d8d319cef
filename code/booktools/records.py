"""Records: what executed notebooks say was measured, on this machine and on every named one."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import nbformat
from nbformat import NotebookNode

from booktools.book import Book, BookError
from booktools.execute import execution
from booktools.keys import check_keys, stored
from booktools.notebook import Execution, code_cells, load_execution
from dlperf.measurement import Measurement
from dlperf.records import MIME, PREFIX

HERE = "this"
"""The name of the machine that builds, beside those under `records/`."""


def glue(notebook: NotebookNode) -> dict[str, dict[str, Any]]:
    """Returns every stored mime bundle of a notebook by its key, with the prefix taken off."""
    found = {}
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if name := stored(output):
                found[name] = {mime.removeprefix(PREFIX): data for mime, data in output.data.items()}
    return found


def read_records(notebook: NotebookNode, name: str) -> dict[str, dict[str, Any]]:
    """Returns the records of an executed notebook: key -> value, unit, environment.

    ``value`` is a `Measurement` or the number or string that was recorded. BookError names the
    file and the key of a record that cannot be read.
    """
    records = {}
    for key, data in glue(notebook).items():
        if MIME not in data:
            continue
        content = data[MIME]
        try:
            content = json.loads(content) if isinstance(content, str) else content
            if content["kind"] == "measurement":
                value = Measurement.from_json(content["measurement"])
                records[key] = {"value": value, "unit": value.unit, "environment": value.environment}
            else:
                records[key] = {name: content[name] for name in ("value", "unit", "environment")}
        except (ValueError, KeyError, TypeError) as error:
            raise BookError(f"{name}: the record {key!r} is corrupt: {error}") from None
    return records


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
        for page, done in self.executions.items():
            merged |= read_records(done.notebook, f"records/{self.name}/{page}.ipynb")
        return merged

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

BORROWED = "This machine cannot run this experiment. What the page shows of it was measured on another:"


def borrow(page: NotebookNode, name: str, machines: Iterable[Machine]) -> dict[str, str]:
    """Gives the cells of a page what its text shows, this machine could not record, and one of ``machines`` has.

    A cell that borrows says so in an output of its own. Returns the name of the lender of each key.
    """
    text = "\n".join(cell.source for cell in page.cells if cell.cell_type == "markdown")
    lenders: dict[str, str] = {}
    for machine in machines:
        missing = set(SHOWN.findall(text)) - glue(page).keys()
        done = machine.executions.get(name) if missing else None
        theirs = {cell.source: cell.outputs for cell in code_cells(done.notebook)} if done else {}
        for cell in code_cells(page):
            lent = [output for output in theirs.get(cell.source, []) if stored(output) in missing]
            if lent:
                note = {"text/html": f'<p class="dl-borrowed"><span>{BORROWED}</span><code>{machine.name}</code></p>'}
                cell.outputs = [*cell.outputs, nbformat.v4.new_output("display_data", note), *lent]
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
        for page, each in done.items():
            check_keys(book, page, each.notebook, paths[page])
        machines.append(Machine(folder.name, done))
    return machines


def this_machine(book: Book) -> Machine:
    """Returns the machine that builds, with the executions that are at hand."""
    found = {page: execution(book, page) for page in book.pages}
    done = {page: each for page, each in found.items() if each}
    for page, each in done.items():
        check_keys(book, page, each.notebook, book.notebooks / f"{page}.ipynb")
    return Machine(HERE, done)


def all_machines(book: Book, edition: str = HERE) -> list[Machine]:
    """Returns the recorded machines, led by the one that builds unless the edition is a record's."""
    return ([this_machine(book)] if edition == HERE else []) + recorded_machines(book)
