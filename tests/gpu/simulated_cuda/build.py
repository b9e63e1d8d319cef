"""Building the simulated GPU's library, once for its source and PyTorch's version."""

from __future__ import annotations

import fcntl
import hashlib
from pathlib import Path

import torch

from dlperf.native import build, libtorch_options

SOURCES = Path(__file__).parent / "cpp"


def library(folder: Path) -> Path:
    """Returns the library in ``folder``, built if need be, which takes half a minute; `CompilerError` if it cannot.

    One process builds it; others that want it meanwhile wait for that.
    """
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(torch.__version__.encode())
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.read_bytes())
    main = (SOURCES / "backend.cpp").read_text(encoding="utf-8")
    seen = f"-DSOURCES={digest.hexdigest()[:16]}"  # the name of what is built depends on the options
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return build(main, *libtorch_options(), f"-I{SOURCES}", "-shared", "-fPIC", "-w", seen, folder=folder)
