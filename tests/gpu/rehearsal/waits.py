"""Deleting waits: each call in ``dlperf`` that waits for a GPU or one of its streams, one at a time."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import sys
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

WAITS = ("synchronize", "wait_stream", "wait_event", "record_stream")
CODE = Path(__file__).resolve().parents[3] / "code" / "dlperf"


@dataclass(frozen=True)
class Wait:
    """A place that waits: its module's file under ``dlperf``, its number there, its line, and how it reads."""

    file: str
    number: int
    line: int
    text: str

    @property
    def key(self) -> str:
        """How a test names it: what is stable when lines move."""
        return f"{self.file.removesuffix('.py')}: {self.text}"


class _Delete(ast.NodeTransformer):
    """Replaces the wait of a number by nothing, and lists all; a method that is passed on becomes one that is idle."""

    def __init__(self, number: int = -1) -> None:
        self.number, self.found = number, list[tuple[int, str]]()

    def _meets(self, node: ast.expr) -> bool:
        self.found.append((node.lineno, ast.unparse(node)))
        return len(self.found) - 1 == self.number

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name not in WAITS:
            return self.generic_visit(node)
        return ast.copy_location(ast.Constant(None), node) if self._meets(node) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr in WAITS and isinstance(node.ctx, ast.Load) and self._meets(node):
            idle = ast.parse("(0, lambda *_: None)[1]", mode="eval").body
            idle.value.elts[0] = node.value  # what it is a method of is still evaluated
            return ast.copy_location(idle, node)
        return self.generic_visit(node)


def waits() -> list[Wait]:
    """Returns every wait in ``dlperf``."""
    found = []
    for path in sorted(CODE.rglob("*.py")):
        listing = _Delete()
        listing.visit(ast.parse(path.read_text(encoding="utf-8")))
        file = path.relative_to(CODE).as_posix()
        found += [Wait(file, number, *place) for number, place in enumerate(listing.found)]
    return found


class _Loader(importlib.machinery.SourceFileLoader):
    number = -1

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = _Delete(self.number).visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def delete(file: str, number: int) -> None:
    """Makes this process import the module in ``file`` without its wait of that number."""
    name = "dlperf." + file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, wanted: str, path: Any = None, target: Any = None) -> Any:
            if wanted != name:
                return None
            spec = importlib.machinery.PathFinder.find_spec(wanted, path, target)
            assert spec is not None
            assert spec.origin is not None
            spec.loader = _Loader(wanted, spec.origin)
            spec.loader.number = number
            return spec

    sys.meta_path.insert(0, Finder())
