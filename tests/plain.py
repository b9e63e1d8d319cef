"""Plain notebooks as a reader executes them: where the wheel is installed, and the book's folder on no path."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import nbformat

from booktools.executions import short
from booktools.formats.wheel import write_wheel
from booktools.source.notebook import code_cells

EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
path = sys.argv[1]
notebook = nbformat.read(path, as_version=4)
NotebookClient(notebook, timeout=1800, kernel_name="python3").execute()
nbformat.write(notebook, path)
"""


def fresh_python(folder: Path) -> Path:
    """Returns the interpreter of a fresh environment with `dlperf` from its wheel, all else from this environment.

    A line of a ``.pth`` file adds the other's packages, but not what such files there add: not the book's folder.
    """
    venv.create(folder / "env", with_pip=False, symlinks=True)
    found = folder / "env" / "bin" / "python"
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([found, "-c", command], capture_output=True, text=True, check=True).stdout.strip()
    Path(own, "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    wheel = write_wheel(folder)
    install = [sys.executable, "-m", "pip", "--python", str(found), "install", "-q", "--no-index", "--no-deps"]
    subprocess.run([*install, "--ignore-installed", str(wheel)], env=bare, check=True)
    command = "import dlperf; print(dlperf.__file__)"
    said = subprocess.run([found, "-c", command], env=bare, capture_output=True, text=True)
    assert Path(said.stdout.strip()).is_relative_to(own), said.stderr
    return found


def outputs(python: Path, path: Path) -> list[Any]:
    """Returns the outputs of a plain notebook, after executing it in short; fails with the end of what went wrong."""
    bare = {name: value for name, value in os.environ.items() if name not in (short.SHORT, "PYTHONPATH", "MACHINE")}
    given = {**bare, **short.variables(path.parent / "short"), "PYTHONPATH": str(short.HERE / "site")}
    done = subprocess.run([python, "-c", EXECUTE, path], env=given, cwd=path.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return [output for cell in code_cells(nbformat.read(path, as_version=4)) for output in cell.outputs]


def check_shows(outputs: list[Any], key: str) -> None:
    """Fails where none shows what a cell recorded under a key, or one is an error."""
    texts = [output.data.get("text/plain", "") for output in outputs if "data" in output]
    assert any(text.startswith(f"{key} = ") for text in texts)
    assert not [output for output in outputs if output.output_type == "error"]
