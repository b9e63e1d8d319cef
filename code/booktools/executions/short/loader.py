"""Importing ``dlperf`` for a short execution: each module is rewritten by the rule before it is compiled."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from booktools.executions.short.rule import FUNCTIONS, HELPERS, shorten

Edit = Callable[[ast.Module, str], ast.Module]
"""What else rewrites a module: its tree and its file's path in, a tree out."""
After = Callable[[ModuleType], None]
"""What else is done to a module that has been imported."""


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, edit: Edit, after: After) -> None:
        super().__init__(name, path)
        self.edit, self.after = edit, after

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)  # never from or to a cache: the code is not what the file says
        tree = self.edit(ast.parse(self.get_data(path), path), path)
        return compile(shorten(tree), path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(HELPERS)
        super().exec_module(module)
        for name, other in FUNCTIONS.items():
            owner, _, function = name.rpartition(".")
            if owner == module.__name__:
                setattr(module, function, other)
        self.after(module)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, edit: Edit, after: After) -> None:
        self.edit, self.after = edit, after

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] != "dlperf":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path, self.edit, self.after)
        return spec


def activate(edit: Edit = lambda tree, path: tree, after: After = lambda module: None) -> None:
    """Makes every import of ``dlperf`` in this process follow the rule, after ``edit`` and before ``after``."""
    sys.meta_path.insert(0, _Finder(edit, after))
