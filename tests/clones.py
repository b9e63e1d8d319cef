"""A clone of the tree at hand, and lines that are run in it as a runner without a GPU would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import gate
from tests.conftest import ROOT

DEADLINE_S = 4 * 3600
"""It only ends a hang."""


def clone_of_the_tree(folder: Path) -> Path:
    """Returns a folder after making it a clone of the tree at hand, what is not committed included."""
    tree = gate.tree()
    assert tree, "this is no checkout of git's"
    author = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    commit = git(ROOT, *author, "commit-tree", tree, "-m", "the tree at hand")
    git(ROOT, "clone", "-q", "--shared", "--no-checkout", str(ROOT), str(folder))
    git(folder, "checkout", "-q", "-B", "main", commit)
    return folder


def git(folder: Path, *command: str) -> str:
    """Returns what git prints, run in a folder."""
    return subprocess.run(
        ["git", "-C", str(folder), *command], check=True, capture_output=True, text=True
    ).stdout.strip()


def run_line(clone: Path, line: str) -> str:
    """Returns what a line of a workflow prints, run in a clone; fails with its end where the line fails."""
    bare = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "PYTHON", "PYTEST", "VIRTUAL_ENV", "DLPERF", "BOOKTOOLS"))
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", line],
        cwd=clone,
        env={**bare, "CI": "true", "PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, f"{done.stdout[-8000:]}\n{done.stderr[-2000:]}"
    return done.stdout
