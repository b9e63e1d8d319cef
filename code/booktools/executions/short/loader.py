"""Importing ``dlperf`` for a short execution: each module is rewritten by the rule before it is compiled.

Of an execution's hundred processes only the first does so: the others find it in a folder, where they are given one.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.abc
import importlib.machinery
import marshal
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from booktools.executions.short import KEPT
from booktools.executions.short.rule import FUNCTIONS, HELPERS, shorten

Edit = Callable[[ast.Module, str], ast.Module]
"""What else rewrites a module: its tree and its file's path in, a tree out."""
After = Callable[[ModuleType], None]
"""What else is done to a module that has been imported."""


@functools.cache
def _rule() -> bytes:
    """Returns what a rewritten module depends on, beside its own text."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return b"".join((sys.version.encode(), *(file.read_bytes() for file in files)))


def kept(path: str, text: bytes, rewrite: Callable[[], CodeType]) -> CodeType:
    """Returns the code of a module that `KEPT` has for this ``path``, ``text`` and rule, else of ``rewrite``."""
    if not (folder := os.environ.get(KEPT)):
        return rewrite()
    file = Path(folder, hashlib.sha256(b"\0".join((path.encode(), text, _rule()))).hexdigest())
    if file.exists():
        return marshal.loads(file.read_bytes())
    code = rewrite()
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as own:  # whoever reads meanwhile finds all or nothing
        own.write(marshal.dumps(code))
    os.replace(own.name, file)
    return code


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, edit: Edit, after: After) -> None:
        super().__init__(name, path)
        self.edit, self.after = edit, after

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)  # never from or to Python's own cache: the code is not what the file says
        text = self.get_data(path)

        def rewrite() -> CodeType:
            return compile(shorten(self.edit(ast.parse(text, path), path)), path, "exec", dont_inherit=True)

        return kept(path, text, rewrite)

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
