"""What `pip install .` brings, and what is said where something is lacking."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib

import pytest

from booktools.fingerprint import DLPERF, reached
from dlperf.environment import lacking
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
MODULES = sorted(
    ".".join(path.relative_to(DLPERF).with_suffix("").parts).removesuffix(".__init__")
    for path in DLPERF.rglob("*.py")
    if path.name != "__main__.py" and path != DLPERF / "__init__.py"
)


def names(requirements: list[str]) -> set[str]:
    """Returns the distributions that requirements name, without their versions."""
    return {re.split(r"[^\w.-]", requirement)[0] for requirement in requirements}


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


def brought(*extras: str) -> set[str]:
    """Returns the distributions that an installation brings, with what these need themselves."""
    asked = names([*PROJECT["dependencies"], *(each for extra in extras for each in EXTRAS[extra])])
    return asked.union(*(names(importlib.metadata.requires(each) or []) for each in asked - {"dlperf"}))


@pytest.mark.parametrize(
    ("package", "extras"),
    [("hardware", ["hardware"]), *((each, ["hardware", "book"]) for each in MODULES if "." not in each)],
)
def test_the_extras_bring_what_modules_import(package: str, extras: list[str]) -> None:
    """IPython aside, which is there wherever there is a notebook to hand a record to."""
    _, packages = reached({f"dlperf.{each}" for each in MODULES if each.partition(".")[0] == package})
    known = importlib.metadata.packages_distributions()
    assert {known[each][0].lower() for each in packages} - {"ipython"} <= brought(*extras)


def test_the_extra_for_the_book_brings_that_for_the_hardware() -> None:
    assert "dlperf[hardware]" in EXTRAS["book"]


def test_the_command_in_a_message_names_an_extra_of_this_project() -> None:
    """The distribution is on no index, so the command installs from the book's folder."""
    found = re.search(r"pip install '(\S+)\[(\w+)\]' in the book's folder", lacking("numba"))
    assert found
    assert found[1] == "."
    assert found[2] in EXTRAS


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_so_do_the_commands_of_the_readmes(readme: str) -> None:
    named = re.findall(r"pip install '(\S+?)\[(\w+)\]'", (ROOT / readme).read_text(encoding="utf-8"))
    assert named
    assert {folder for folder, _ in named} == {"."}
    assert {extra for _, extra in named} <= set(EXTRAS)


def test_without_pyroute2_the_probe_names_it_and_not_the_system() -> None:
    code = """
from dlperf.hardware import Unknown, links
try:
    links.over_ten_gigabit()
except Unknown as why:
    print(why)
"""
    assert python(code, "pyroute2") == lacking("pyroute2")


def test_without_cramjam_the_probe_names_it() -> None:
    code = """
from dlperf.hardware import Unknown, compression
try:
    compression.snappy()
except Unknown as why:
    print(why)
"""
    assert python(code, "cramjam") == lacking("cramjam")


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
    experiments = {"jax", *names(EXTRAS["hardware"])}
    assert python(code, *build, *experiments) == '{"page.key": "1.5"}'


def test_what_pip_leaves_behind_is_ignored() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git's")
    left = ["build/lib/dlperf/__init__.py", "code/dlperf.egg-info/PKG-INFO"]
    ignored = subprocess.run(["git", "check-ignore", *left], cwd=ROOT, capture_output=True, text=True).stdout
    assert ignored.split() == left
