"""Notes each line of ``dlperf`` and of a cell at the first time that a process reaches it.

By Python's own trace function, which leaves programs as they are: a call that a module is given at each line would end
the graphs of `torch.compile`. Functions whose lines are all known are traced no more, so a loop soon runs as it did.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

VARIABLE = "REACHED_LINES"
"""The environment's name for the file to which lines are written, as ``file:line<tab>text``."""

CELL = "ipykernel_"
"""What the folder of a cell's file is called by: the file is named by the cell's source, and so the same elsewhere."""


def variables(file: Path, given: dict[str, str]) -> dict[str, str]:
    """Returns the environment ``given``, of processes that now note in ``file`` which lines they reach."""
    site = str(Path(__file__).parents[1] / "site")
    return {
        **given,
        "PYTHONPATH": os.pathsep.join(filter(None, (site, given.get("PYTHONPATH", "")))),
        VARIABLE: str(file),
    }


def read(file: Path) -> dict[str, str]:
    """Returns the text of each line that was reached, by ``file:line``."""
    return dict(line.split("\t", 1) for line in file.read_text(encoding="utf-8").splitlines())


def _name(file: str) -> str:
    """Returns what a file is called in the notes, '' for one whose lines do not matter."""
    path = Path(file)
    if path.parent.name.startswith(CELL):
        return f"cell {path.stem}"
    parts = path.parts
    return "/".join(parts[parts.index("dlperf") :]) if "dlperf" in parts[:-1] else ""


class _Tracer:
    """A trace function, and of each piece of code the lines that are not noted yet."""

    def __init__(self, notes: str) -> None:
        self.notes = notes
        self.left: dict[int, set[int]] = {}  # by identity: a code's own hash takes long
        self.seen: list[CodeType] = []  # kept alive, so that an identity is not given twice

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if id(code) not in self.left:
            matters = _name(code.co_filename) != ""
            self.left[id(code)] = {line for _, _, line in code.co_lines() if line and matters}
            self.seen.append(code)
        return self._line if self.left[id(code)] else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        code, line = frame.f_code, frame.f_lineno
        left = self.left[id(code)]
        if event == "line" and line in left:
            left.discard(line)
            self._note(f"{_name(code.co_filename)}:{line}\t{linecache.getline(code.co_filename, line).strip()}\n")
        return self._line if left else None

    def _note(self, text: str) -> None:
        """Writes a note at once: one write, so that processes do not mix theirs."""
        file = os.open(self.notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, text.encode())
        os.close(file)


def activate() -> None:
    """Has this process, its threads and the processes that it forks note what they reach."""
    tracer = _Tracer(os.environ[VARIABLE])
    threading.settrace(tracer)
    sys.settrace(tracer)
