"""The lines that the workflows run, run here: in a fresh clone of the tree at hand, as a runner without a GPU would.

What cannot be run here is named and counted (`tests.workflows.ELSEWHERE`); the actions between the lines are GitHub's.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clones import clone_of_the_tree, git, run_line
from tests.workflows import ELSEWHERE, STANDING_IN, Step, workflows

RUN = ("check", "publish", "notebooks", "chapters")
"""The targets that are run, in an order in which a failure tells most."""
STEPS = [step for workflow in workflows() for step in workflow.steps]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clone of the tree at hand; it goes when the tests end, with its environment."""
    folder = tmp_path_factory.mktemp("workflows") / "clone"
    yield clone_of_the_tree(folder)
    shutil.rmtree(folder, ignore_errors=True)


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
    """On two cores the first installs for minutes, and checks for four; `chapters` takes half an hour.

    It executes every page in full, as the GPU runner does, and shows what a CPU lacks as on any page.
    """
    for line in lines(target):
        run_line(clone, line)
    if target == "publish":
        for page in ("index.html", "zh/index.html"):
            assert "dl-recorded" in (clone / "_build" / "html" / page).read_text(encoding="utf-8")
    assert git(clone, "status", "--porcelain") == ""
