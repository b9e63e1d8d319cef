"""Pack a kit for a machine with no network, no Jupyter and another PyTorch.

``kit/run.py`` calls `booktools.commands.kit_run`; ``kit/pages`` has the notebooks to execute, ``kit/code`` the book's
package, ``kit/wheels`` what that machine's Python may lack. What comes back, `booktools.commands.recording` takes in.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import booktools
from booktools.commands.hashes import blocks
from booktools.commands.install import LOCK
from booktools.executions.executions import expected_seconds
from booktools.executions.fingerprint import DLPERF, fingerprint
from booktools.source.book import Book, BookError
from booktools.source.kernel import KEY
from booktools.source.page import pages_with_cells, source

KERNEL = ("nbclient", "ipykernel")
"""What executes a notebook."""
THEIRS = ("torch", "jax")
"""What is never packed: PyTorch is the machine's own, and JAX is larger than a kit."""
IDLE = ("debugpy", "jedi", "parso")
"""What a kernel needs only to debug and to complete: never packed, since to unpack their files takes seconds."""
ROOM = 60 * 2**20
"""Bytes that all wheels together may have."""
BOOKTOOLS = Path(booktools.__file__).resolve().parent
RUN_BY_IT = (
    *("__init__.py", "commands/__init__.py", "executions/__init__.py", "source/__init__.py"),
    *("executions/canary.py", "source/kernel.py"),
    *(f"commands/{name}.py" for name in ("kit_run", "kit_piece", "privacy")),
)
"""The files of `booktools` that the kit's script imports: they need the standard library and what a kit brings."""
GLIBC = range(28, 4, -1)
"""The minor versions of glibc 2 for which a wheel may be made; PyTorch itself needs 2.28."""


RUN = '''"""Executes the book's chapters on this machine, in pieces: python3 run.py --help."""

import sys
from pathlib import Path

KIT = Path(__file__).resolve().parent
sys.path.insert(0, str(KIT / "code"))

from booktools.commands.kit_run import main

sys.exit(main(KIT))
'''


def make_kit(book: Book, python: str = "3.12", have: Path | None = None, *, wheels: bool = True) -> Path:
    """Writes the folder ``kit`` for a Python, and returns it; ``kit/done`` stays as it is.

    ``have`` is a file that names what the machine has, such as its ``pip list``: none of it is packed. An
    earlier kit is replaced only by a whole one. Raises BookError with the file, version or wheel that is wrong.
    """
    if not re.fullmatch(r"3\.1[1-3]", python):
        raise BookError(f"PYTHON_VERSION={python}: the book runs on 3.11, 3.12 and 3.13")
    theirs = named(have) if have else set()
    kit = book.root / "kit"
    with tempfile.TemporaryDirectory(dir=book.root, prefix=".kit-") as folder:
        part = Path(folder) / "kit"
        pages = [_page(book, page, part / "pages", python) for page in pages_with_cells(book)]
        manifest = {"python": python, "cell_seconds": book.timeout, "pages": pages}
        (part / "kit.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        (part / "run.py").write_text(RUN, encoding="utf-8")
        shutil.copytree(DLPERF, part / "code" / "dlperf", ignore=shutil.ignore_patterns("__pycache__"))
        for name in RUN_BY_IT:
            copy = part / "code" / "booktools" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(BOOKTOOLS / name, copy)
        (part / "wheels").mkdir()
        if wheels:
            imported = set().union(*(page["imports"] for page in pages))
            if lacking := needs({*KERNEL, *imported} - set(THEIRS), python) - {*theirs, *IDLE}:
                _fill(part / "wheels", lacking, python, (book.root / LOCK).read_text(encoding="utf-8"))
        done = kit / "done"
        if done.is_dir():
            done.rename(part / "done")
        if kit.exists():
            kit.rename(Path(folder) / "old")
        part.rename(kit)
    return kit


def _page(book: Book, page: str, folder: Path, python: str) -> dict[str, Any]:
    """Writes one chapter as a notebook to execute, and returns what the script must know of it.

    ``imports`` names the distributions that it imports, ``needs`` those and what they need; PyTorch is there anyhow.
    """
    current = source(book, page)
    mark, notebook = fingerprint(book, current), current.notebook()
    notebook.metadata[KEY] = {"fingerprint": mark}
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{page}.ipynb")
    imports = sorted(set(mark["versions"]) - {"torch"})
    return {
        "name": page,
        "seconds": expected_seconds(book, page),
        "imports": imports,
        "needs": sorted(needs(imports, python) - set(IDLE)),
    }


def named(have: Path) -> set[str]:
    """Returns the distributions that a file names, as ``pip list`` and ``pip freeze`` do, or between commas.

    Whatever else stands in it, such as versions, names no distribution and does no harm.
    """
    try:
        words = re.split(r"[\s,]+", have.read_text(encoding="utf-8"))
    except OSError as error:
        raise BookError(f"HAVE={have}: {error.strerror}; it is a file such as pip list writes on the machine") from None
    return {canonicalize_name(word.partition("==")[0]) for word in words}


def needs(names: Iterable[str], python: str) -> set[str]:
    """Returns these distributions and all that they need on Linux with such a Python, by what is installed here."""
    there = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    there |= {"platform_system": "Linux", "platform_machine": "x86_64", "os_name": "posix", "extra": ""}
    found: set[str] = set()
    waiting = [canonicalize_name(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        try:
            lines = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            raise BookError(
                f"{name} is needed on Python {python} and not installed here: see requirements.txt"
            ) from None
        for need in map(Requirement, lines):
            if need.marker is None or need.marker.evaluate(there):
                waiting.append(canonicalize_name(need.name))
    return found


def _fill(folder: Path, names: set[str], python: str, lock: str) -> None:
    """Downloads wheels that the lock names; leaves the largest out until they fit, and says which."""
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in GLIBC] + ["manylinux2014_x86_64", "manylinux1_x86_64"]
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
    command += ["-d", str(folder), "--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    command += [f"--abi={abi}" for abi in (f"cp{python.replace('.', '')}", "abi3", "none")]
    command += [f"--platform={platform}" for platform in platforms]
    with tempfile.NamedTemporaryFile("w", suffix=".lock") as part:
        part.writelines(text for name, text in blocks(lock).items() if name in names)
        part.flush()
        done = subprocess.run([*command, "--require-hashes", "-r", part.name], capture_output=True, text=True)
    if done.returncode:
        raise BookError(f"the wheels could not be had:\n{done.stderr.strip()[-2000:]}")
    sizes: dict[str, int] = {_distribution(wheel): wheel.stat().st_size for wheel in folder.glob("*.whl")}
    left_out = over(sizes, ROOM, {name: needs([name], python) for name in sizes})
    for wheel in folder.glob("*.whl"):
        if _distribution(wheel) in left_out:
            wheel.unlink()
    if left_out:
        print(f"left out, for want of room: {', '.join(left_out)}. A machine without them cannot run all chapters")


def _distribution(wheel: Path) -> str:
    return canonicalize_name(wheel.name.partition("-")[0])


def over(sizes: Mapping[str, int], room: int, needed: Mapping[str, set[str]]) -> list[str]:
    """Returns what to leave out so that the rest is no larger than ``room``: the largest, and all that need it."""
    out: list[str] = []
    kept = dict(sizes)
    while sum(kept.values()) > room:
        largest = max(kept, key=lambda name: kept[name])
        gone = sorted(name for name in kept if largest in needed[name])
        out += gone
        kept = {name: size for name, size in kept.items() if name not in gone}
    return out
