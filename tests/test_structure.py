"""How the code hangs together: imports run one way, and readers need no build tools."""

from __future__ import annotations

import subprocess
import sys

import pytest

from booktools.notebook import DLPERF, imported, reached

SPINE = {"timing", "budget", "measurement", "device", "environment", "native", "network", "records", "plot"}
SOURCES = {
    ".".join(path.relative_to(DLPERF).with_suffix("").parts).removesuffix(".__init__"): path.read_text(encoding="utf-8")
    for path in DLPERF.rglob("*.py")
    if path != DLPERF / "__init__.py"
}
MODULES = sorted(SOURCES)
PACKAGES = sorted({module.partition(".")[0] for module in MODULES if "." in module})


def inner(module: str) -> set[str]:
    """Returns the names of the `dlperf` modules and packages that a module imports, its own package aside."""
    parts = (name.split(".") for name in imported(SOURCES[module]) if name.startswith("dlperf."))
    return {part[1] for part in parts if part[1] in MODULES} - {module.partition(".")[0]}


@pytest.mark.parametrize("module", MODULES)
def test_dlperf_never_imports_the_build(module: str) -> None:
    names = imported(SOURCES[module])
    assert not {name for name in names if name.split(".")[0] in ("booktools", "sphinx", "myst_nb", "jupyter_book")}


@pytest.mark.parametrize("module", sorted(set(MODULES) - SPINE))
def test_subjects_import_only_the_spine(module: str) -> None:
    """And the engine, with which several chapters experiment, and the model, which later ones hold up to machines."""
    assert inner(module) <= SPINE | {"engine", "model"}


@pytest.mark.parametrize("module", sorted(SPINE))
def test_the_spine_imports_no_subject(module: str) -> None:
    assert inner(module) <= SPINE


@pytest.mark.parametrize("package", PACKAGES)
def test_a_page_that_imports_a_package_reaches_all_of_it(package: str) -> None:
    """So a page is stale when any of its modules changed: their imports are absolute, as `imported` needs them."""
    modules, _ = reached({f"dlperf.{package}"})
    mine = {module for module in MODULES if module.partition(".")[0] == package and not module.endswith("__main__")}
    assert {f"dlperf.{module}" for module in mine} <= modules.keys()


def test_dlperf_needs_only_torch_numpy_and_matplotlib() -> None:
    """Everything is imported in an interpreter that refuses all that only the build or the tests install.

    But for `dlperf.hardware`, which says what it lacks and how to get it.
    """
    plain = [module for module in MODULES if module.partition(".")[0] != "hardware"]
    code = f"""
import importlib, importlib.abc, sys
REFUSED = {{"IPython", "ipykernel", "nbformat", "nbclient", "sphinx", "myst_nb", "babel", "bs4", "yaml", "pytest"}}
REFUSED |= {{"jax", "pyroute2", "numba", "psutil", "tqdm", "cramjam"}}  # experiments use them, where they are installed
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in REFUSED:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
for name in {plain!r}:
    importlib.import_module("dlperf." + name)
try:
    import dlperf.hardware
except ImportError as error:
    assert "dlperf[hardware]" in str(error), error
else:
    raise AssertionError("dlperf.hardware was imported without Numba")
from dlperf.records import record
record("page.key", 1.5)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == '{"page.key": "1.5"}'
