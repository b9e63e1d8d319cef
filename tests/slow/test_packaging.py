"""What is said where a package is lacking, by interpreters that have none of it; each imports PyTorch for seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dlperf.environment import lacking
from tests.test_packaging import EXTRAS, MODULES, names


def python(code: str, *refused: str) -> str:
    """Returns what a program prints in an interpreter that has none of the ``refused`` packages."""
    refuse = f"""
import importlib.abc, sys
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(refused)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Refuse())
"""
    done = subprocess.run([sys.executable, "-c", refuse + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("package", "probe"), [("pyroute2", "links.over_ten_gigabit"), ("cramjam", "compression.snappy")]
)
def test_a_probe_names_the_package_that_it_lacks_and_not_the_system(package: str, probe: str) -> None:
    code = f"""
from dlperf.hardware import Unknown, {probe.partition(".")[0]}
try:
    {probe}()
except Unknown as why:
    print(why)
"""
    assert python(code, package) == lacking(package)


@pytest.mark.parametrize("package", ["numba", "psutil", "tqdm"])
def test_without_its_packages_the_survey_names_the_first(package: str) -> None:
    code = """
try:
    import dlperf.hardware
except ImportError as error:
    print(error)
"""
    assert python(code, package).endswith(lacking(package))


def test_dlperf_needs_only_torch_numpy_and_matplotlib() -> None:
    """Everything but `dlperf.hardware` is imported in an interpreter that has nothing else."""
    plain = [module for module in MODULES if module.partition(".")[0] != "hardware"]
    code = f"""
import importlib
for name in {plain!r}:
    importlib.import_module("dlperf." + name)
from dlperf.records import record
record("page.key", 1.5)
"""
    build = {"IPython", "ipykernel", "nbformat", "nbclient", "sphinx", "myst_nb", "babel", "bs4", "yaml", "pytest"}
    experiments = {"jax", "llvmlite", *names(EXTRAS["hardware"])}
    assert python(code, *build, *experiments) == '{"page.key": "1.5"}'
