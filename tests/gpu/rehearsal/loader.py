"""Importing ``dlperf`` for a rehearsal: each module shortened, and telling which of its lines for a GPU it reaches."""

from __future__ import annotations

import ast
import functools
import importlib.abc
import importlib.machinery
import json
import os
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from rehearsal.selection import asking
from rehearsal.shortening import HELPERS, MEMORY, shorten

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

    def __init__(self, lines: set[int]) -> None:
        self.lines = lines

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        if not isinstance(node, ast.stmt) or node.lineno not in self.lines:
            return node
        call = ast.parse(f"_reached({node.lineno})").body[0]
        return [ast.copy_location(call, node), node]


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)  # never from or to a cache: the code is not what the file says
        tree = ast.parse(self.get_data(path), path)
        tree = _Mark(set(_wanted().get(path, []))).visit(tree)
        return compile(shorten(tree), path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(HELPERS, _reached=functools.partial(_tell, module.__file__))
        super().exec_module(module)
        if module.__name__ == "dlperf.environment":
            module.memory_bytes = lambda: MEMORY  # type: ignore[attr-defined]
        elif module.__name__ == "dlperf.device":
            module.try_all_gpus = asking(module.try_all_gpus)  # type: ignore[attr-defined]


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] != "dlperf":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def activate() -> None:
    """Makes every import of ``dlperf`` one for the rehearsal."""
    sys.meta_path.insert(0, _Finder())
