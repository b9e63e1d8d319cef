"""Run a kit on a bare machine: ``python3 kit/run.py``, see `booktools.commands.kit`.

It stands alone, with the files that `booktools.commands.kit.RUN_BY_IT` names: Python and PyTorch are the machine's, all
else that it lacks is in the kit. The network is never asked.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import re
import signal
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from booktools.commands.kit_piece import KERNEL, Piece


def lacking(wheels: Path) -> list[Path]:
    """Returns the wheels of distributions that this machine's Python does not have, in whatever version."""
    found = []
    for wheel in sorted(wheels.glob("*.whl")):
        try:
            importlib.metadata.distribution(wheel.name.partition("-")[0])
        except importlib.metadata.PackageNotFoundError:
            found.append(wheel)
    return found


def install(kit: Path, site: Path) -> list[str]:
    """Makes what the kit brings importable, here and in kernels, and returns the names of what was lacking.

    A wheel is an archive of what stands in ``site-packages``: unpacked into ``site``, which goes when the run ends.
    There is also the kernel, of this very Python: what the machine calls python3 may be another, set up in another way.
    """
    wheels = lacking(kit / "wheels")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    kernel = site / "jupyter" / "kernels" / KERNEL
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--IPKernelApp.log_level=ERROR"]
    spec = {"argv": command, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    own = str(site / "jupyter")  # IPython takes the folder of its profiles off the path: it must not be the site
    os.environ |= dict.fromkeys(("JUPYTER_PATH", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"), own)
    folders = [str(kit / "code"), str(site)]
    sys.path[:0] = folders
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])
    return [wheel.name.partition("-")[0] for wheel in wheels]


def refused(manifest: dict[str, Any]) -> str | None:
    """Returns why this Python cannot execute the kit's chapters, or None."""
    here = "{}.{}".format(*sys.version_info)
    if here != manifest["python"]:
        return f"this kit is for Python {manifest['python']}, and this is {here}: make kit PYTHON_VERSION={here}"
    if importlib.util.find_spec("torch") is None:
        return f"this Python ({sys.executable}) has no PyTorch: start the script with the one that has"
    return None


def absent(needs: list[str]) -> list[str]:
    """Returns the distributions of a list that neither the machine nor the kit has."""
    there = {re.sub(r"[-_.]+", "-", found.name.lower()) for found in importlib.metadata.distributions()}
    return sorted(set(needs) - there)


def arguments(kit: Path) -> argparse.Namespace:
    """Returns what the command line says of a run of the kit in the folder ``kit``."""
    parser = argparse.ArgumentParser(
        description="Executes the book's chapters on this machine, in pieces; started again, it goes on.",
        epilog="Bring the folder of results home, and there: make record MACHINE=name FROM=folder",
    )
    parser.add_argument("--out", type=Path, default=kit / "done", help="where executed chapters go (kit/done)")
    parser.add_argument("--resume", type=Path, action="append", default=[], help="a further folder of earlier results")
    parser.add_argument("--minutes", type=float, default=9.0, help="how long this piece may take (9)")
    parser.add_argument("--only", nargs="+", metavar="CHAPTER", help="these, in this order (all, the shortest first)")
    parser.add_argument("--again", action="store_true", help="execute anew what failed or was too long")
    return parser.parse_args()


def main(kit: Path) -> int:
    """Runs one piece of a kit; returns 0 when all chapters are done, 3 when some are not, 1 when nothing can be."""
    start, options = time.monotonic(), arguments(kit)
    manifest = json.loads((kit / "kit.json").read_text(encoding="utf-8"))
    pages = {page["name"]: page for page in manifest["pages"]}
    unknown = sorted(set(options.only or []) - pages.keys())
    if problem := f"no such chapter: {unknown[0]}; there are {', '.join(pages)}" if unknown else refused(manifest):
        print(problem, file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # so that the kernel ends, too
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as site:
        brought = install(kit, Path(site))
        piece = Piece(kit, options.out, [*options.resume, kit / "done"], options.minutes, start)
        piece.log(f"from the kit: {', '.join(brought) or 'nothing was lacking'}")
        for page in manifest["pages"]:
            if without := absent(page["needs"]):
                piece.log(f"{page['name']}: there is no {', '.join(without)}: its cells say so and borrow, or fail")
        shortest = sorted(pages.values(), key=lambda page: page["seconds"] or 0)
        chosen = [pages[name] for name in options.only] if options.only else shortest
        return 0 if piece.run(chosen, options.again) else 3
