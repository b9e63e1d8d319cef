"""How the code hangs together: imports run one way, and readers need no build tools."""

from __future__ import annotations

import subprocess
import sys

import pytest

from booktools.notebook import DLPERF, imported

SPINE = {"timing", "measurement", "device", "environment", "records", "plot"}
MODULES = sorted(path.stem for path in DLPERF.glob("*.py") if path.stem != "__init__")


def inner(module: str) -> set[str]:
    """Returns the names of the `dlperf` modules that a module imports."""
    names = imported((DLPERF / f"{module}.py").read_text(encoding="utf-8"))
    parts = (name.split(".") for name in names if name.startswith("dlperf."))
    return {part[1] for part in parts if part[1] in MODULES}


@pytest.mark.parametrize("module", MODULES)
def test_dlperf_never_imports_the_build(module: str) -> None:
    names = imported((DLPERF / f"{module}.py").read_text(encoding="utf-8"))
    assert not {name for name in names if name.split(".")[0] in ("booktools", "sphinx", "myst_nb", "jupyter_book")}


@pytest.mark.parametrize("module", sorted(set(MODULES) - SPINE))
def test_subjects_import_only_the_spine(module: str) -> None:
    assert inner(module) <= SPINE


@pytest.mark.parametrize("module", sorted(SPINE))
def test_the_spine_imports_no_subject(module: str) -> None:
    assert inner(module) <= SPINE


def test_dlperf_needs_only_torch_numpy_and_matplotlib() -> None:
    """Everything is imported in an interpreter that refuses all that only the build or the tests install."""
    code = f"""
import importlib, importlib.abc, sys
REFUSED = {{"IPython", "ipykernel", "nbformat", "nbclient", "sphinx", "myst_nb", "babel", "bs4", "yaml", "pytest"}}
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in REFUSED:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
for name in {MODULES!r}:
    importlib.import_module("dlperf." + name)
from dlperf.records import record
record("page.key", 1.5)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == '{"page.key": "1.5"}'
