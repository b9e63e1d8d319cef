"""Write zip files that are the same to the byte whenever and wherever they are made of the same files."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

EPOCH = "SOURCE_DATE_EPOCH"
"""The environment variable that says which time files of a release bear: https://reproducible-builds.org/specs/."""
FIRST = 315532800
"""The earliest time that a zip file can hold: 1980-01-01."""


def epoch(root: Path) -> int:
    """Returns the time that packed files bear: that of `EPOCH`, else of the last commit, else the earliest there is."""
    said = os.environ.get(EPOCH, "")
    if not said:
        command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
        try:
            said = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        except OSError:  # no git
            said = ""
    return max(int(said), FIRST) if said.isdigit() else FIRST


def write_zip(folder: Path, path: Path, top: str = "", when: int = FIRST) -> Path:
    """Packs a folder's files, sorted by name, under the folder ``top``; returns the path of the zip file.

    Each file bears the time ``when``, in UTC, and the rights of one that all may read.
    """
    names = sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())
    with zipfile.ZipFile(path, "w") as packed:
        for name in names:
            entry = zipfile.ZipInfo(f"{top}/{name}" if top else name, time.gmtime(when)[:6])
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o100644 << 16
            packed.writestr(entry, (folder / name).read_bytes(), compresslevel=9)
    return path


def unpack(path: Path, folder: Path) -> Path:
    """Unpacks a zip file into a folder, and returns that."""
    with zipfile.ZipFile(path) as packed:
        packed.extractall(folder)
    return folder


def write_sums(paths: Iterable[Path], path: Path) -> Path:
    """Writes the SHA-256 of files, sorted by name, as ``sha256sum -c`` reads them; returns the path of the list."""
    lines = [f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in sorted(paths)]
    path.write_text("".join(lines), encoding="utf-8")
    return path
