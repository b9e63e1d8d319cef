"""The test command: a red run tells everything at once, and a green one marks what it tested."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import gate
from tests.conftest import ROOT

MAKEFILE = """
install:
\t@echo ready
check:
\t@echo "check says so" && mkdir -p _build && cp report.xml $(patsubst --junitxml=%,%,$(REPORT)) && exit {status}
short build processes gpu browser:
\t@echo $@ ran
"""
REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one"/>
<testcase classname="tests.test_a" name="test_two[x]">{wrong}</testcase>
<testcase classname="tests.test_b" name="test_three"><skipped message="no GPU"/></testcase>
</testsuite></testsuites>"""
WRONG = '<failure message="AssertionError: assert 1 == 2&#10;  more of it">...</failure>'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of its own with the gate and a Makefile whose pieces only say that they ran."""
    (tmp_path / "tests").mkdir()
    shutil.copy(gate.__file__, tmp_path / "tests")
    (tmp_path / ".gitignore").write_text("_build\n")
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def run(root: Path, *arguments: str, status: int = 0, wrong: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the gate where one test of the piece ``check`` is ``wrong``, and make ends with ``status``."""
    (root / "Makefile").write_text(MAKEFILE.format(status=status))
    (root / "report.xml").write_text(REPORT.format(wrong=wrong))
    command = [sys.executable, "tests/gate.py", *arguments]
    return subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_red_run_runs_every_piece_and_lists_every_failure(repository: Path) -> None:
    done = run(repository, status=2, wrong=WRONG)
    assert done.returncode == 1
    assert "browser ran" in done.stdout  # though a piece before it failed
    assert "FAILED tests/test_a::test_two[x]: AssertionError: assert 1 == 2\n" in done.stdout
    assert re.search(r"^check .* 1 +1 +1  FAILED$", done.stdout, re.M)
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 1 skipped"
    assert run(repository, "--tested", status=2, wrong=WRONG).returncode == 1


def test_a_piece_that_fails_without_a_test_shows_its_last_lines(repository: Path) -> None:
    done = run(repository, status=2)
    assert done.returncode == 1
    assert "FAILED check ended with 2; its last lines:\n  check says so\n" in done.stdout


def test_a_green_run_marks_the_tree_that_it_tested(repository: Path) -> None:
    assert run(repository, "--tested").stdout == "No tree has passed `make test` here yet.\n"
    assert run(repository).returncode == 0
    said = json.loads((repository / "_build" / "tested.json").read_text())
    assert (
        said["tree"]
        == subprocess.run(
            "git add -A && git write-tree", cwd=repository, shell=True, capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    assert said["seconds"].keys() == gate.BUDGETS.keys()
    done = run(repository, "--tested")
    assert done.returncode == 0
    assert "It is the tree at hand." in done.stdout
    (repository / "new.txt").write_text("a change that no commit holds")
    done = run(repository, "--tested")
    assert done.returncode == 1
    assert "run `make test`" in done.stdout


def test_one_piece_can_be_run_alone_and_marks_nothing(repository: Path) -> None:
    done = run(repository, "check")
    assert done.returncode == 0
    assert "browser ran" not in done.stdout
    assert not (repository / "_build" / "tested.json").exists()
    assert "no such piece: chapters; there are install, check" in run(repository, "chapters").stdout


def test_pieces_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{piece}: .*## ", makefile, re.M) for piece in gate.BUDGETS)
