"""What is said where a package is lacking, by interpreters that have none of it; each imports PyTorch for seconds."""

from __future__ import annotations

import subprocess
import sys

from dlperf.environment import lacking
from tests.test_packaging import EXTRAS, MODULES, names


def python(code: str, *refused: str) -> str:
    """Returns what a program prints in an interpreter that has none of the ``refused`` packages; it may change them."""
    refuse = f"""
import importlib.abc, sys
refused = {set(refused)!r}
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Refuse())
"""
    done = subprocess.run([sys.executable, "-c", refuse + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_probe_names_the_package_that_it_lacks_and_not_the_system() -> None:
    probes = {"pyroute2": "links.over_ten_gigabit", "cramjam": "compression.snappy"}
    code = f"""
from dlperf.hardware import Unknown, compression, links
for probe in {", ".join(probes.values())}:
    try:
        probe()
    except Unknown as why:
        print(why)
"""
    assert python(code, *probes).splitlines() == list(map(lacking, probes))


def test_without_its_packages_the_survey_names_the_first() -> None:
    packages = ["numba", "psutil", "tqdm"]
    code = f"""
import dlperf.environment
for package in {packages}:
    refused.clear()
    refused.add(package)
    for name in list(sys.modules):
        if name.startswith("dlperf.hardware") or name.partition(".")[0] == package:
            del sys.modules[name]
    try:
        import dlperf.hardware
    except ImportError as error:
        print(str(error).splitlines()[-1])
"""
    said = python(code).splitlines()
    assert len(said) == len(packages)
    assert [line.endswith(lacking(package)) for line, package in zip(said, packages, strict=True)] == [True] * 3


def test_dlperf_needs_only_torch_numpy_and_matplotlib() -> None:
    """But for `dlperf.hardware`, threads that Numba compiles and actors of Ray, all is imported with nothing else."""
    optional = ("hardware", "servers.hogwild", "kvstore.ray_")
    plain = [module for module in MODULES if not module.startswith(optional)]
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
