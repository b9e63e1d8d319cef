"""Compute what an execution of a page depends on: its cells, the modules they reach, locked versions.

Prose is not in it, nor are the words about code (`tokens`): a word may change without running anything.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import sys
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

import dlperf
from booktools.source.book import Book, BookError
from booktools.source.cache import cached, digest, digest_of_files
from booktools.source.page import Page, parse
from booktools.source.tokens import code

DLPERF = Path(dlperf.__file__).resolve().parent


def imports_of(tree: ast.AST) -> set[str]:
    """Returns the full names of what a program imports."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imported(source: str) -> set[str]:
    """Returns the full names of what Python source imports; IPython's magic lines are passed over."""
    return imports_of(parse(source))


@functools.lru_cache(maxsize=1024)
def _module(path: Path, mtime_ns: int) -> tuple[str, frozenset[str]]:
    source = path.read_text(encoding="utf-8")
    return digest(code(source)), frozenset(imported(source))


def module(path: Path) -> tuple[str, frozenset[str]]:
    """Returns a hash of a module's code and the names that it imports, read once in a process."""
    return _module(path, path.stat().st_mtime_ns)


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
            waiting.extend(module(path)[1])
        elif not name.startswith("dlperf"):
            others.add(name.partition(".")[0])
    return modules, others - sys.stdlib_module_names


def locked(lock: str) -> dict[str, str]:
    """Returns the version of each package that the lines of a requirements file pin; BookError names a line."""
    pins: dict[str, str] = {}
    for number, line in enumerate(lock.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith(("#", "-")):
            try:
                pin = Requirement(line.partition(" #")[0])
            except InvalidRequirement as error:
                raise BookError(f"requirements.txt:{number}: {error}") from None
            pins |= {canonicalize_name(pin.name): each.version for each in pin.specifier if each.operator == "=="}
    return pins


@functools.cache
def _distributions() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())


def fingerprint(book: Book, page: Page) -> dict[str, Any]:
    """Returns what an execution of this page depends on, so that a change can be named.

    ``cells`` hashes the code and its cell options; ``modules`` hashes each ``dlperf`` module that
    the page reaches; ``versions`` holds the locked version of each package that page or modules
    import. BookError names the line of a cell that is not Python.
    """
    lock = book.root / "requirements.txt"
    pins = lock.read_text(encoding="utf-8") if lock.is_file() else ""
    made_of = digest(repr([(cell.source, cell.options) for cell in page.cells]), all_modules(), pins)
    return cached(book.cache, f"fingerprint-{page.name}", made_of, lambda: _fingerprint(book, page, pins))


def all_modules() -> str:
    """Returns a hash of every module of ``dlperf``."""
    return _all_modules(tuple((path, path.stat().st_mtime_ns) for path in sorted(DLPERF.rglob("*.py"))))


@functools.lru_cache(maxsize=8)
def _all_modules(files: tuple[tuple[Path, int], ...]) -> str:
    return digest_of_files(DLPERF, (path for path, _ in files))


def _fingerprint(book: Book, page: Page, pins: str) -> dict[str, Any]:
    modules, packages = reached({name for tree in page.trees(book) for name in imports_of(tree)})
    pinned, names = locked(pins), _distributions()
    reached_pins = {canonicalize_name(dist) for name in packages for dist in names.get(name, [name])}
    return {
        "cells": digest(*(part for c in page.cells for part in (code(c.source), repr(sorted(c.options.items()))))),
        "modules": {name: module(path)[0] for name, path in sorted(modules.items())},
        "versions": {pin: pinned[pin] for pin in sorted(reached_pins) if pin in pinned},
    }


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Returns what differs between two fingerprints, as identifiers: ``cells``, ``dlperf.timing``, ``torch``."""
    found = ["cells"] if old.get("cells") != new["cells"] else []
    for part in ("modules", "versions"):
        before, now = old.get(part, {}), new[part]
        found += sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    return found
