"""The lines that the workflows run, run here: in a fresh clone of the tree at hand, as a runner without a GPU would.

What cannot be run here is named and counted (`tests.workflows.ELSEWHERE`); the actions between the lines are GitHub's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import gate
from tests.conftest import ROOT
from tests.workflows import ELSEWHERE, STANDING_IN, Step, workflows

RUN = ("check", "publish")
"""The targets that are run, in an order in which a failure tells most."""
DEADLINE_S = 3600
"""It only ends a hang."""
STEPS = [step for workflow in workflows() for step in workflow.steps]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clone of the tree at hand, what is not committed included; it goes when the tests end, with its environment."""
    folder = tmp_path_factory.mktemp("workflows") / "clone"
    tree = gate.tree()
    assert tree, "this is no checkout of git's"
    author = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    commit = git(ROOT, *author, "commit-tree", tree, "-m", "the tree at hand")
    git(ROOT, "clone", "-q", "--shared", "--no-checkout", str(ROOT), str(folder))
    git(folder, "checkout", "-q", "-B", "main", commit)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def git(folder: Path, *command: str) -> str:
    """Returns what git prints, run in a folder."""
    return subprocess.run(
        ["git", "-C", str(folder), *command], check=True, capture_output=True, text=True
    ).stdout.strip()


def lines(target: str) -> list[str]:
    """Returns the lines of all steps that run a target, each once."""
    return list(dict.fromkeys(line for step in STEPS if target in step.targets for line in step.lines))


def kind(step: Step) -> str:
    """Returns what becomes of a step here."""
    if not step.lines:
        return "an action of GitHub's"
    if all(target in STANDING_IN for target in step.targets):
        return "run with a stand-in for gh"
    return "run here" if all(target in RUN for target in step.targets) else "not run here"


def test_every_line_is_run_here_or_named(capsys: pytest.CaptureFixture[str]) -> None:
    counted = Counter(map(kind, STEPS))
    with capsys.disabled():
        print(f"\n{len(STEPS)} steps: " + ", ".join(f"{number} {what}" for what, number in counted.items()))
        for step in STEPS:
            if kind(step) == "not run here":
                print(f"  {step}: " + "; ".join(ELSEWHERE.get(target, "run") for target in step.targets))
    assert {target for step in STEPS for target in step.targets} == {*RUN, *STANDING_IN, *ELSEWHERE}


@pytest.mark.parametrize("target", RUN)
def test_a_line_passes_in_a_fresh_clone(clone: Path, target: str) -> None:
    bare = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "PYTHON", "PYTEST", "VIRTUAL_ENV", "DLPERF", "BOOKTOOLS"))
    }
    environment = {**bare, "CI": "true", "PYTHON": sys.executable}
    for line in lines(target):
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", line]
        done = subprocess.run(
            command, cwd=clone, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=DEADLINE_S,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout[-8000:]}\n{done.stderr[-2000:]}"
    if target == "publish":
        for page in ("index.html", "zh/index.html"):
            assert "dl-recorded" in (clone / "_build" / "html" / page).read_text(encoding="utf-8")
    assert git(clone, "status", "--porcelain") == ""
