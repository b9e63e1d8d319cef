"""Stepping in while PyTorch is imported: the library before it, its inside when that has come, the rest at the end."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from simulated_cuda import library


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name not in ("torch", "torch._C"):
            return None
        others = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is None or spec.loader is None:
            return None
        if name == "torch":
            library.load(Path(str(spec.origin)).parent)
        execute = spec.loader.exec_module

        def then(module: ModuleType) -> None:
            execute(module)
            from simulated_cuda import bindings, stand_ins  # not before: what they import may import torch

            bindings.give(module) if name == "torch._C" else stand_ins.install(module)

        spec.loader.exec_module = then  # type: ignore[method-assign]
        return spec


def activate() -> None:
    """Makes the next ``import torch`` one with simulated GPUs. Raises RuntimeError where it is too late."""
    if "torch" in sys.modules:
        raise RuntimeError("the simulated GPU has to be there before torch is imported")
    sys.meta_path.insert(0, _Finder())
