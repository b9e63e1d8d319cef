"""The scripts of the ladder as readers take them home, and what is read of a run."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from booktools.fingerprint import imported
from dlperf.multigpu import rungs
from dlperf.multigpu.rungs import Rung


@pytest.mark.parametrize("script", [*rungs.SCRIPTS, rungs.JOB], ids=lambda script: script.name)
def test_a_script_fits_the_page(script: Path) -> None:
    assert max(map(len, script.read_text(encoding="utf-8").splitlines())) <= 76


@pytest.mark.parametrize("script", rungs.SCRIPTS, ids=lambda script: script.name)
def test_a_script_needs_nothing_of_the_book(script: Path) -> None:
    assert {name.partition(".")[0] for name in imported(script.read_text(encoding="utf-8"))} <= {
        "os",
        "sys",
        "sklearn",
        "torch",
    }


def test_what_a_rung_keeps_is_the_same_in_all() -> None:
    """What is no matter of devices: data, network and report."""
    bodies = [script.read_text(encoding="utf-8") for script in rungs.SCRIPTS]
    shared = {text[text.index("BATCH,") : text.index("\n\n\ndef ", text.index("def report"))] for text in bodies}
    assert len(shared) == 1


@pytest.mark.parametrize(("old", "new"), list(pairwise(rungs.SCRIPTS)), ids=lambda script: script.name)
def test_the_page_shows_what_changes(old: Path, new: Path) -> None:
    """Sphinx's own ``:diff:`` would print where the files lie on the machine that built the page."""
    assert new.with_suffix(".diff").read_text(encoding="utf-8") == rungs.diff(old, new)


def test_the_job_is_a_shell_script() -> None:
    subprocess.run(["bash", "-n", str(rungs.JOB)], check=True)


def test_weights_are_compared_over_the_largest() -> None:
    one = Rung(0.0, 0.0, {"a": torch.tensor([1.0, -4.0]), "b": torch.tensor([2.0])}, 0.0)
    other = Rung(0.0, 0.0, {"a": torch.tensor([1.0, -4.0]), "b": torch.tensor([1.0])}, 0.0)
    assert one.difference(one) == 0
    assert one.difference(other) == 0.25


def test_what_a_run_has_left_is_read(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(1)}, tmp_path / "digits.pt")
    found = rungs.read(tmp_path, "some warning\n0.5000 0.9000\n", 2.0)
    assert (found.loss, found.right, found.seconds, found.weights["a"].item()) == (0.5, 0.9, 2.0, 1.0)
