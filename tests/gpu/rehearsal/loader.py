"""Importing ``dlperf`` for a rehearsal: short, and telling which of its lines for a GPU it reaches."""

from __future__ import annotations

import ast
import functools
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from rehearsal.selection import asking

from booktools.executions.short import loader

LINES = "REHEARSAL_LINES"
"""The environment's name for a file of JSON: the lines to be told of, by path. Without it modules are as they are."""

REACHED = "REHEARSAL_REACHED"
"""Its name for the file to which reached lines are written, as ``path:line``."""


@functools.cache
def _wanted() -> dict[str, list[int]]:
    return json.loads(Path(os.environ[LINES]).read_text(encoding="utf-8"))


@functools.cache
def _tell(path: str, line: int) -> None:
    """Writes a line at its first time in a process: one write, so that processes do not mix theirs."""
    file = os.open(os.environ[REACHED], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{path}:{line}\n".encode())
    os.close(file)


class _Mark(ast.NodeTransformer):
    """Puts a call before each statement that begins on one of the lines."""

    def __init__(self, path: str, lines: set[int]) -> None:
        self.path, self.lines = path, lines

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        if not isinstance(node, ast.stmt) or node.lineno not in self.lines:
            return node
        call = ast.parse(f"_reached({self.path!r}, {node.lineno})").body[0]
        return [ast.copy_location(call, node), node]


def _mark(tree: ast.Module, path: str) -> ast.Module:
    """Returns a module whose lines for a GPU say that they are reached, by a name that the builtins then have."""
    return _Mark(path, set(_wanted().get(path, []))).visit(tree)


def _watch(module: ModuleType) -> None:
    if module.__name__ == "dlperf.device":
        module.try_all_gpus = asking(module.try_all_gpus)  # type: ignore[attr-defined]


def activate() -> None:
    """Makes every import of ``dlperf`` one for the rehearsal."""
    import builtins

    builtins._reached = _tell  # type: ignore[attr-defined]
    loader.activate(_mark, _watch)
