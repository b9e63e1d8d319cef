"""Runs a module as ``python -m`` does, and writes which lines of some modules it reaches.

    torchrun … -m tests.gpu.reached FOLDER MODULES MODULE ARGUMENTS…

``MODULES`` are names with commas between. Each process writes the lines of its main thread to ``FOLDER/RANK``, as JSON,
by module. `gpu_lines` says which of them name a GPU.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import runpy
import sys
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

NAMES_A_GPU = re.compile(r"\b(cuda|accelerator)\b")


def path_of(module: str) -> Path:
    """Returns the file of a module, without importing it."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)


def gpu_lines(module: str) -> dict[int, str]:
    """Returns the lines with code in which a GPU is named, by CUDA's name or PyTorch's for any maker's, by number.

    Imports are none, and a statement of several lines is its first.
    """
    text = path_of(module).read_text(encoding="utf-8")
    lines = text.splitlines()
    statements = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    silent = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    begins = {node.lineno for node in statements if not isinstance(node, silent) and not is_text(node)}
    return {n: lines[n - 1].strip() for n in sorted(begins) if NAMES_A_GPU.search(lines[n - 1])}


def is_text(node: ast.stmt) -> bool:
    """Returns whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def run(folder: Path, modules: list[str], module: str) -> None:
    """Runs a module, and writes the lines of ``modules`` that it reached."""
    import torch.distributed  # noqa: F401 - before lines are followed, which makes an import slow

    names = {str(path_of(each)): each for each in modules}
    reached: dict[str, set[int]] = defaultdict(set)

    def follow(frame: FrameType, event: str, _: Any) -> Any:
        name = names.get(frame.f_code.co_filename)
        if name is None:
            return None
        if event == "line":
            reached[name].add(frame.f_lineno)
        return follow

    sys.settrace(follow)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        sys.settrace(None)
        found = {name: sorted(lines) for name, lines in reached.items()}
        (folder / os.environ["RANK"]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    _, into, followed, program, *rest = sys.argv
    sys.argv[1:] = rest
    run(Path(into), followed.split(","), program)
