"""Every file of `tests/long` has a short twin, which the table of `tests.long` names and which uses the same code."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest

from tests import long
from tests.conftest import ROOT
from tests.long.tools import require

TESTS = ROOT / "tests"
LONG = Path(long.__file__).parent


def table(text: str) -> dict[str, list[str]]:
    """Returns the twins of each file that a table names."""
    _, head, body, *_ = re.split(r"^=+  =+$", text, flags=re.MULTILINE)
    assert head.split()[0] == "here"
    return {here: twins for here, *twins in map(str.split, body.strip().splitlines())}


def files(folder: Path) -> set[str]:
    """Returns the files of a folder, but for those that make it a package."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*.py") if path.name != "__init__.py"}


def code(path: Path) -> set[str]:
    """Returns what a test imports of the book and of its tests, as ``module.name``."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and re.match(r"(dlperf|booktools|tests|rehearsal)\b", node.module or ""):
            found |= {f"{node.module}.{each.name}" for each in node.names}
    return found


def faults(twins: dict[str, list[str]], tests: Path, folder: Path) -> list[str]:
    """Returns what is wrong with a table of the twins of a folder's files."""
    wrong = [f"{here}: has no twin in the table" for here in sorted(files(folder) - twins.keys())]
    for here, named in twins.items():
        if not (folder / here).is_file():
            wrong.append(f"{here}: is not there")
        elif not named:
            wrong.append(f"{here}: has no twin")
        elif lacking := [
            twin for twin in named if not (tests / twin).is_file() or (tests / twin).is_relative_to(folder)
        ]:
            wrong.append(f"{here}: no test of make test is {', '.join(lacking)}")
        else:
            own = {f"tests.{twin.removesuffix('.py').replace('/', '.')}" for twin in named}
            mine, theirs = code(folder / here), set().union(*(code(tests / twin) for twin in named))
            itself = f"tests.long.{here.removesuffix('.py').replace('/', '.')}"
            shared = mine & theirs | {each for each in mine if each.rpartition(".")[0] in own}
            shared |= {each for each in theirs if each.rpartition(".")[0] == itself}
            if not {each for each in shared if each != "tests.conftest.ROOT"}:
                wrong.append(f"{here}: nothing that it imports is used by {', '.join(named)}")
    return wrong


def test_every_file_has_a_twin_that_is_there_and_uses_the_same_code() -> None:
    assert faults(table(long.__doc__ or ""), TESTS, LONG) == []


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ("", "test_a.py: has no twin in the table"),
        ("test_a.py", "test_a.py: has no twin"),
        ("test_a.py test_gone.py", "test_a.py: no test of make test is test_gone.py"),
        ("test_a.py long/test_a.py", "test_a.py: no test of make test is long/test_a.py"),
        ("test_a.py test_other.py", "test_a.py: nothing that it imports is used by test_other.py"),
        ("test_a.py test_other.py test_same.py", ""),
        ("test_a.py test_same.py\ntest_b.py test_same.py", "test_b.py: is not there"),
    ],
)
def test_a_fault_of_the_table_is_found(tmp_path: Path, row: str, wrong: str) -> None:
    (tmp_path / "long").mkdir()
    for name, imported in {"long/test_a": "timing", "test_same": "timing", "test_other": "turns"}.items():
        (tmp_path / f"{name}.py").write_text(f"from dlperf import {imported}\n", encoding="utf-8")
    rule = "====  ====\n"
    found = faults(table(f"{rule}here twins\n{rule}{row}\n{rule}"), tmp_path, tmp_path / "long")
    assert found == ([wrong] if wrong else [])


def test_what_long_tests_ask_for_is_installed_by_make_programs_and_named_in_both_readmes() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    line = re.search(r"^programs:.*?--no-install-recommends([^#]*?)\n\n", recipe, re.S | re.M)
    assert line
    installed = set(line[1].replace("\\", "").split())
    texts = [path.read_text(encoding="utf-8") for path in LONG.rglob("*.py") if path.name != "tools.py"]
    texts.append((ROOT / "code/booktools/formats/pdf/fonts.py").read_text(encoding="utf-8"))
    asked = {name for text in texts for name in re.findall(r'\brequire\("([\w-]+)"\)', text)}
    asked |= {
        name
        for text in texts
        for named in re.findall(r"apt install ((?:[a-z][\w-]+ ?)+)", text)
        for name in named.split()
    }
    assert asked == installed
    for readme in ("README.md", "README.zh.md"):
        text = (ROOT / readme).read_text(encoding="utf-8")
        assert {name for name in installed if f"`{name}`" not in text} == set()


def test_a_tool_that_is_lacking_fails_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", {"fio": "/usr/bin/fio"}.get)
    require("fio")
    with pytest.raises(pytest.fail.Exception, match=r"mbw is not installed.*apt install mbw"):
        require("mbw")
