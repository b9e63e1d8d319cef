"""Pages as notebooks: reading them, knowing when an execution is still theirs, joining the two."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from nbformat import NotebookNode

import dlperf
from booktools.book import Book, BookError

DLPERF = Path(dlperf.__file__).resolve().parent
SYNTAX = MdParserConfig(enable_extensions={"colon_fence", "dollarmath", "deflist", "attrs_inline"})
KEY = "dlperf"
"""Where a notebook's metadata keep its fingerprint and machine."""


def read_page(path: Path) -> NotebookNode:
    """Returns a page as a notebook without outputs; `metadata.source_map` holds each cell's line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BookError(f"{path}: _toc.yml lists this page, but the file does not exist") from None
    notebook = read_myst_markdown_notebook(text, SYNTAX, add_source_map=True, path=path)
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index}"
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Returns the cells that are executed."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def cell_lines(notebook: NotebookNode) -> list[int]:
    """Returns the line, counted from 1, at which each code cell's source begins."""
    lines = notebook.metadata.source_map
    return [line + 1 for line, cell in zip(lines, notebook.cells, strict=True) if cell.cell_type == "code"]


def _hash(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update((part.encode() if isinstance(part, str) else part) + b"\0")
    return digest.hexdigest()[:16]


def imported(source: str) -> set[str]:
    """Returns the full names of what Python source imports; IPython's magic lines are passed over."""
    lines = (line if not re.match(r"\s*[%!]", line) else "pass" for line in source.splitlines())
    names = set()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _module_file(name: str) -> Path | None:
    parts = name.split(".")
    if parts[0] != "dlperf":
        return None
    stem = DLPERF.joinpath(*parts[1:])
    return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if len(parts) > 1 and p.is_file()), None)


def reached(names: set[str]) -> tuple[dict[str, Path], set[str]]:
    """Returns the ``dlperf`` modules that imports reach, directly or through others, and all other packages."""
    modules: dict[str, Path] = {"dlperf": DLPERF / "__init__.py"}
    others: set[str] = set()
    waiting = sorted(names)
    while waiting:
        name = waiting.pop()
        path = _module_file(name)
        if path and name not in modules:
            modules[name] = path
            waiting.append(name.rpartition(".")[0])  # Importing a module runs its package, too.
            waiting.extend(imported(path.read_text(encoding="utf-8")))
        elif not name.startswith("dlperf"):
            others.add(name.partition(".")[0])
    return modules, others - sys.stdlib_module_names


@functools.cache
def _locked(lock: Path) -> dict[str, str]:
    lines = lock.read_text(encoding="utf-8").splitlines() if lock.is_file() else []
    pins = (re.match(r"([A-Za-z0-9_.-]+)==([^\s;]+)", line) for line in lines)
    return {pin[1].lower().replace("_", "-"): pin[2] for pin in pins if pin}


@functools.cache
def _distributions() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())


def fingerprint(book: Book, notebook: NotebookNode) -> dict[str, Any]:
    """Returns what an execution of this page depends on, so that a change can be named.

    ``cells`` hashes the code and its cell options; ``modules`` hashes each ``dlperf`` module that
    the page reaches; ``versions`` holds the locked version of each package that page or modules
    import. Prose is not in it: a word may change without running anything.
    """
    cells = code_cells(notebook)
    names: set[str] = set()
    for cell, line in zip(cells, cell_lines(notebook), strict=True):
        try:
            names |= imported(cell.source)
        except SyntaxError as error:
            raise BookError(f"line {line + (error.lineno or 1) - 1}: this cell is not Python: {error.msg}") from None
    modules, packages = reached(names)
    locked = _locked(book.root / "requirements.txt")
    pins = {dist.lower().replace("_", "-") for name in packages for dist in _distributions().get(name, [name])}
    return {
        "cells": _hash(*(part for cell in cells for part in (cell.source, repr(sorted(cell.metadata.items()))))),
        "modules": {name: _hash(path.read_bytes()) for name, path in sorted(modules.items())},
        "versions": {pin: locked[pin] for pin in sorted(pins) if pin in locked},
    }


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Returns what differs between two fingerprints, as identifiers: ``cells``, ``dlperf.timing``, ``torch``."""
    found = ["cells"] if old.get("cells") != new["cells"] else []
    for part in ("modules", "versions"):
        before, now = old.get(part, {}), new[part]
        found += sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    return found


@dataclass(frozen=True)
class Execution:
    """An executed notebook and how it stands to the page as it is now."""

    notebook: NotebookNode
    stale: tuple[str, ...]

    @property
    def machine(self) -> dict[str, Any]:
        """The environment it ran in."""
        return dict(self.notebook.metadata[KEY]["environment"])

    @property
    def seconds(self) -> float:
        """The time that its cells took, by the kernel's own stamps."""
        return float(self.notebook.metadata[KEY].get("seconds", 0.0))


def load_execution(book: Book, path: Path, page: str) -> Execution:
    """Returns a recorded execution of ``page``; BookError where the file is not one, whole and readable."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        kept = notebook.metadata[KEY]
        kept["fingerprint"]["cells"], kept["environment"]["cpu"]
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise BookError(
            f"{book.relative(path)}: this record is corrupt or cut off ({type(error).__name__}: {reason}); "
            "restore it from git or record it again with make record"
        ) from None
    now = fingerprint(book, read_page(book.page(book.languages[0].code, page)))
    return Execution(notebook, tuple(changes(kept["fingerprint"], now)))


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


def join(page: NotebookNode, executed: NotebookNode | None) -> NotebookNode:
    """Returns the page with the outputs of its executed twin, cell by cell where their sources agree.

    Cells that the twin lacks stay without outputs, which only a stale record brings about.
    """
    waiting: dict[str, list[NotebookNode]] = {}
    for cell in reversed(code_cells(executed) if executed else []):
        waiting.setdefault(cell.source, []).append(cell)
    for cell in code_cells(page):
        if waiting.get(cell.source):
            twin = waiting[cell.source].pop()
            cell.outputs, cell.execution_count = twin.outputs, twin.execution_count
    if executed:
        page.metadata.setdefault("language_info", executed.metadata.get("language_info", {}))
    return page
