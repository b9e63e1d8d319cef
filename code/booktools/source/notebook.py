"""Read notebooks: cells, recorded values, and source pages merged with executed outputs."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from booktools.source.book import BookError
from booktools.source.page import as_notebook
from booktools.source.tokens import code
from dlperf.measurement import Measurement
from dlperf.ratio import Ratio
from dlperf.records import MIME, PREFIX

if TYPE_CHECKING:
    from nbformat import NotebookNode


def read_page(path: Path) -> NotebookNode:
    """Returns a page as a notebook without outputs."""
    return as_notebook(path.read_text(encoding="utf-8"), path)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Returns the cells that are executed."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def cell_lines(notebook: NotebookNode) -> list[int]:
    """Returns the line of a page, counted from 1, at which each code cell of its notebook begins."""
    lines = notebook.metadata.source_map
    return [line + 1 for line, cell in zip(lines, notebook.cells, strict=True) if cell.cell_type == "code"]


def stored(output: NotebookNode) -> str:
    """Returns the key under which an output is stored, or an empty string if it is not."""
    return output.get("metadata", {}).get("scrapbook", {}).get("name", "")


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

    ``value`` is a `Measurement` or the number or string that was recorded; ``ratio`` is that of a ratio
    of medians with its two sides. BookError names the file and the key of a record that cannot be read.
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
                if "sides" in content:
                    sides = tuple(Measurement.from_json(side) for side in content["sides"])
                    records[key]["ratio"] = Ratio(content["value"], sides, content["because"])
        except (ValueError, KeyError, TypeError) as error:
            raise BookError(f"{name}: the record {key!r} is corrupt: {error}") from None
    return records


def is_executed(notebook: NotebookNode) -> bool:
    """Returns whether every code cell ran, none with an error that was not expected."""
    return all(
        cell.get("execution_count") is not None
        and (
            "raises-exception" in cell.metadata.get("tags", [])
            or not any(output.output_type == "error" for output in cell.outputs)
        )
        for cell in code_cells(notebook)
    )


def one_of_each_stream(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Returns outputs with all that a cell wrote to one stream in the place of its first piece, to the letter.

    A kernel sends what was printed by the clock, so a piece may end in the middle of a line, or of a number.
    MyST-NB's `nb_merge_streams` would end the line there.
    """
    merged: list[NotebookNode] = []
    begun: dict[str, NotebookNode] = {}
    for output in outputs:
        if output.output_type != "stream":
            merged.append(output)
        elif output.name in begun:
            begun[output.name].text += output.text
        else:
            begun[output.name] = copy.copy(output)
            merged.append(begun[output.name])
    return merged


def join(page: NotebookNode, executed: NotebookNode | None) -> NotebookNode:
    """Returns the page with the outputs of its executed twin, cell by cell where their sources agree.

    Only in a stale record are there cells that the page no longer has. What they recorded stays readable,
    in the first cell that has no outputs of its own: the page says that it is stale, and text may glue it.
    """
    waiting: dict[str, list[NotebookNode]] = {}
    changed: list[NotebookNode] = []
    for cell in reversed(code_cells(executed) if executed else []):
        waiting.setdefault(code(cell.source), []).append(cell)
    for cell in code_cells(page):
        if waiting.get(code(cell.source)):
            twin = waiting[code(cell.source)].pop()
            cell.outputs, cell.execution_count = one_of_each_stream(twin.outputs), twin.execution_count
        else:
            changed.append(cell)
    if changed:
        left = [output for cells in waiting.values() for cell in cells for output in cell.outputs if stored(output)]
        changed[0].outputs = sorted(left, key=stored)
    if executed:
        page.metadata.setdefault("language_info", executed.metadata.get("language_info", {}))
    return page
