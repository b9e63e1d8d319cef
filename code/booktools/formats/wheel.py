"""Build the distribution `dlperf` as a wheel, which pip installs without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from booktools.executions.fingerprint import DLPERF
from booktools.formats.archive import EPOCH, epoch, unpack, write_zip
from booktools.source.book import BookError

ROOT = DLPERF.parents[1]
"""The folder of `pyproject.toml`."""
SOURCES = ("pyproject.toml", "README.md", "LICENSE")
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
"""What a front end such as pip calls, as `pyproject.toml` says; without one, in half the time."""


def write_wheel(folder: Path) -> Path:
    """Writes the wheel into a folder and returns its path: the same bytes from the same sources.

    It is built of a copy, so that nothing is left in the book's folder, and packed anew: the files of a wheel bear
    the times and rights of whoever builds it. Raises BookError with what setuptools said.
    """
    folder.mkdir(parents=True, exist_ok=True)
    when = epoch(ROOT)
    with tempfile.TemporaryDirectory() as name:
        copy, built = Path(name) / "source", Path(name) / "built"
        copy.mkdir()
        built.mkdir()
        for each in SOURCES:
            shutil.copy(ROOT / each, copy)
        shutil.copytree(ROOT / "code", copy / "code", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        given = {**os.environ, EPOCH: str(when)}
        done = subprocess.run([sys.executable, "-c", BUILD, built], cwd=copy, env=given, capture_output=True, text=True)
        if done.returncode:
            raise BookError(f"dlperf could not be packed:\n{done.stdout}{done.stderr}")
        (path,) = built.glob("*.whl")
        write_zip(unpack(path, Path(name) / "unpacked"), folder / path.name, when=when)
        return folder / path.name
