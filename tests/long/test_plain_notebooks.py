"""A plain notebook runs where the wheel beside it is installed, and the book's folder is nowhere on the path."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import nbformat
import pytest

from booktools.executions import short
from booktools.formats.plain_notebooks import write_language
from booktools.formats.wheel import write_wheel
from booktools.source.book import Book
from booktools.source.notebook import code_cells
from tests.conftest import ROOT

BOOK = Book(ROOT)
PAGE = "slow"
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
path = sys.argv[1]
notebook = nbformat.read(path, as_version=4)
NotebookClient(notebook, timeout=1800, kernel_name="python3").execute()
nbformat.write(notebook, path)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with `dlperf` from its wheel, all else from this environment.

    A line of a ``.pth`` file adds the other's packages, but not what such files there add: not the book's folder.
    """
    folder = tmp_path_factory.mktemp("fresh")
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


@pytest.mark.parametrize("language", BOOK.languages, ids=lambda language: language.code)
def test_it_runs_and_shows_what_it_records(language: object, python: Path, tmp_path: Path) -> None:
    write_language(BOOK, language, tmp_path)  # type: ignore[arg-type]
    path = tmp_path / f"{PAGE}.ipynb"
    bare = {name: value for name, value in os.environ.items() if name not in (short.SHORT, "PYTHONPATH", "MACHINE")}
    given = {**bare, **short.variables(tmp_path / "short"), "PYTHONPATH": str(short.HERE / "site")}
    done = subprocess.run([python, "-c", EXECUTE, path], env=given, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    outputs = [output for cell in code_cells(nbformat.read(path, as_version=4)) for output in cell.outputs]
    texts = [output.data.get("text/plain", "") for output in outputs if "data" in output]
    assert any(text.startswith(f"{PAGE}.busy = ") for text in texts)
    assert not [output for output in outputs if output.output_type == "error"]
