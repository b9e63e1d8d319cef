"""Stand-ins for commands that a machine need not have: they log how they were called, and print what they are told."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

PROGRAM = """#!{python}
import json, sys
with open({log!r}, "a", encoding="utf-8") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
print({says!r})
"""


def command(name: str, says: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts a command of this name first on the path; returns the file with a JSON list of the arguments of each call.

    Processes that are started later, such as a network's hosts, find it too.
    """
    folder.mkdir(exist_ok=True)
    log, program = folder / f"{name}.log", folder / name
    program.write_text(PROGRAM.format(python=sys.executable, log=str(log), says=says), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return log
