"""The test command: a red run tells everything at once, and a green one marks what it tested."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import gate
from tests.conftest import ROOT
from tests.processes import DEADLINE_S, alive, wait_until

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


def test_pieces_keep_what_python_has_compiled(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (repository / "Makefile").write_text("check:\n\t@echo [$$PYTHONDONTWRITEBYTECODE]\n")
    command = [sys.executable, "tests/gate.py", "check"]
    assert "\n[]\n" in subprocess.run(command, cwd=repository, capture_output=True, text=True).stdout


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
    assert said["seconds"].keys() == said["cpu_seconds"].keys() == gate.BUDGETS.keys()
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
    assert f"no such piece: chapters; there are {', '.join(gate.BUDGETS)}" in run(repository, "chapters").stdout


def test_a_piece_that_is_run_again_leaves_the_mark_of_the_whole(repository: Path) -> None:
    assert run(repository).returncode == 0
    assert run(repository, "check").returncode == 0
    assert run(repository, "--tested").returncode == 0


TOGETHER = """
short processes:
\t@echo $@ began && touch $@ && until test -e short -a -e processes; do sleep 0.01; done; echo $@ ended
browser:
\t@echo browser ran
"""


def test_two_pieces_run_side_by_side_and_each_is_shown_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Makefile").write_text(TOGETHER)
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    monkeypatch.setattr(gate, "REPORTS", tmp_path)
    results = gate.run(["browser", "processes", "short"], at_once=2)  # each of the last two waits for the other
    assert [each.piece for each in results] == ["short", "processes", "browser"]
    assert all(each.passed and each.cpu_seconds > 0 for each in results)
    said = capfd.readouterr().out
    for piece in ("short", "processes"):
        assert re.search(rf"^=== {piece}, \d+:\d\d ===\n{piece} began\n{piece} ended$", said, re.M)
    assert said.index("short ended") < said.index("browser begins")


@pytest.mark.parametrize(
    ("waiting", "running", "at_once", "begin"),
    [
        (["check", "install", "short"], [], 2, ["install"]),
        (["check", "short"], ["install"], 2, []),
        (["short", "processes", "gpu"], [], 2, ["short", "processes"]),
        (["short", "processes", "gpu"], [], 1, ["short"]),
        (["gpu", "browser"], ["processes"], 2, ["gpu"]),
        (["browser", "check"], ["short"], 2, ["check"]),  # what comes after another waits, not those behind it
        (["browser"], ["check"], 2, ["browser"]),
        (["browser"], ["gpu", "check"], 2, []),
    ],
)
def test_which_pieces_begin(waiting: list[str], running: list[str], at_once: int, begin: list[str]) -> None:
    assert gate.startable(waiting, running, at_once) == begin


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_all_pieces(repository: Path, number: signal.Signals) -> None:
    """Ctrl-C reaches all processes of the terminal's group, another signal only the one that is sent it."""
    (repository / "Makefile").write_text("install:\n\t@echo $$$$ > pid.new && mv pid.new pid && exec sleep 100000\n")
    command = [sys.executable, "tests/gate.py", "install"]
    process = subprocess.Popen(
        command,
        cwd=repository,
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        assert wait_until((repository / "pid").exists)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        said = process.communicate(timeout=DEADLINE_S)[0]
        pid = int((repository / "pid").read_text())
        assert process.returncode != 0
        assert ("Interrupted" in said) == (number == signal.SIGINT)
        assert not (repository / "_build" / "tested.json").exists()
        assert wait_until(lambda: not alive([pid]))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_an_interruption_while_a_piece_starts_ends_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Makefile").write_text("install:\n\t@exec sleep 100000\n")
    started: list[int] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self.pid)
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(gate, "ROOT", tmp_path)
    monkeypatch.setattr(gate, "REPORTS", tmp_path)
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    try:
        with pytest.raises(SystemExit, match="ended"):
            gate.run(["install"])
        assert started
        assert not alive(started)
    finally:
        signal.signal(signal.SIGTERM, before)
        for pid in alive(started):
            os.kill(pid, signal.SIGTERM)  # make passes it on


def test_pieces_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{piece}: .*## ", makefile, re.M) for piece in gate.BUDGETS)
