"""What `pip install .` brings, and what is said where something is lacking."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import tomllib
from collections.abc import Mapping
from functools import cache

import pytest

from booktools.executions.fingerprint import DLPERF, reached
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


@cache
def distributions() -> Mapping[str, list[str]]:
    """Returns the distributions of each package that can be imported; to ask takes seconds."""
    return importlib.metadata.packages_distributions()


@cache
def brought(*extras: str) -> set[str]:
    """Returns the distributions that an installation brings, with what these need themselves."""
    asked = names([*PROJECT["dependencies"], *(each for extra in extras for each in EXTRAS[extra])])
    return asked.union(*(names(importlib.metadata.requires(each) or []) for each in asked - {"dlperf"}))


@pytest.mark.parametrize(
    ("package", "extras"),
    [
        ("hardware", ["hardware"]),
        ("kvstore", ["hardware", "kvstore", "ray"]),
        *((each, ["hardware", "kvstore", "ray", "book"]) for each in MODULES if "." not in each),
    ],
)
def test_the_extras_bring_what_modules_import(package: str, extras: list[str]) -> None:
    """IPython aside, which is there wherever there is a notebook to hand a record to."""
    _, packages = reached({f"dlperf.{each}" for each in MODULES if each.partition(".")[0] == package})
    known = distributions()
    assert {known[each][0].lower() for each in packages} - {"ipython"} <= brought(*extras)


@pytest.mark.parametrize("extra", ["hardware", "kvstore", "ray"])
def test_the_extra_for_the_book_brings_those_of_chapters(extra: str) -> None:
    assert f"dlperf[{extra}]" in EXTRAS["book"]


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


def test_what_pip_leaves_behind_is_ignored() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git's")
    left = ["build/lib/dlperf/__init__.py", "code/dlperf.egg-info/PKG-INFO"]
    ignored = subprocess.run(["git", "check-ignore", *left], cwd=ROOT, capture_output=True, text=True).stdout
    assert ignored.split() == left
