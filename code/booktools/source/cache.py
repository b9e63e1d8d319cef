"""Cache results between runs, each under a hash of all that it was made of, so that none is ever out of date.

joblib's ``Memory`` would keep one entry for each state that a page ever had, until somebody clears it, where one file
per name is enough here, and importing it takes most of a second. DiskCache would be one more package, for a database
where files that are replaced as a whole do.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
CODE = Path(__file__).resolve().parents[2]
"""The folder of `booktools` and `dlperf`."""


def digest(*parts: str | bytes) -> str:
    """Returns a short hash of ``parts`` and of where one ends and the next begins."""
    found = hashlib.sha256()
    for part in parts:
        found.update((part.encode() if isinstance(part, str) else part) + b"\0")
    return found.hexdigest()[:16]


def digest_of_files(root: Path, paths: Iterable[Path]) -> str:
    """Returns a hash of the names below ``root`` and the contents of files; one that is missing counts as such."""
    parts: list[str | bytes] = []
    for path in sorted(paths):
        parts += [os.path.relpath(path, root), path.read_bytes() if path.is_file() else b"missing"]
    return digest(*parts)


@functools.cache
def toolchain_hash() -> str:
    """Returns a hash of what makes results of sources: these modules, the spine, Python, and what is installed."""
    own = [path for path in (CODE / "booktools").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    sources = own + list((CODE / "dlperf").glob("*.py"))
    installed = {sysconfig.get_path(name) for name in ("purelib", "platlib")}  # pip changes the time of these folders
    times = [f"{path} {os.stat(path).st_mtime_ns}" for path in sorted(installed) if os.path.isdir(path)]
    return digest(digest_of_files(CODE, sources), sys.version, *times)


def cached(folder: Path, name: str, made_of: str, make: Callable[[], T]) -> T:
    """Returns what ``make`` returns, from the file ``name`` if that was made of the same, with the same tools.

    ``folder`` may be removed at any time. What cannot be kept (no room, a folder that cannot be written) is made anew.
    """
    path, mark = folder / f"{name.replace('/', '-')}.pickle", digest(made_of, toolchain_hash())
    try:
        with path.open("rb") as file:
            if pickle.load(file) == mark:
                return pickle.load(file)
    except Exception:  # Missing, cut off, or from another version of a class: as good as none.
        pass
    result = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        with fresh.open("wb") as file:
            pickle.dump(mark, file)
            pickle.dump(result, file)
        fresh.replace(path)
    except OSError:
        pass
    return result
