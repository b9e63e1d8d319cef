"""Machines that nobody has: their names are in no list, so whatever shows them must know that they are names."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat

from booktools.claims.claims import all_claims
from booktools.executions import canary
from booktools.source.book import Book
from booktools.source.kernel import KEY
from booktools.source.keys import stored
from booktools.source.notebook import code_cells, glue
from booktools.source.page import pages_with_cells
from dlperf.measurement import Measurement
from dlperf.records import MIME, PREFIX, bundle

MADE_UP: dict[str, dict[str, Any]] = {
    "quux": {
        "cpu": "Quux(R) Zorb(TM) Whatsit 9000 Turbo @ 2.50GHz",
        "microarchitecture": "zorblake",
        "cores": 6,
        "compiler": "zorb++ (Plan Ten from Bell Labs) 0.99-rc1 prerelease",
        "os": "Plan Ten from Bell Labs",
        "python": "3.11.7 wombat",
        "torch": "2.99.0 nightly wombat",
        "virtual": False,
    },
    "frobnicator": {
        "cpu": "Gizmo Doodad, Octa-core & Friends <fast>",
        "cores": 96,
        "gpus": ["Frobnicator X1 80GB Superduper", "Frobnicator Mini"],
        "driver": "Frobnicator Kernel Driver, wombat build 999.99",
        "cuda": "99.9",
        "compiler": "gizmocc version wombat",
        "os": "Linux Gizmo 9.9 doodad64",
        "virtual": True,
    },
    "bare": {"cpu": "Thingamajig", "cores": 1, "compiler": None, "os": "Windows Vistaville", "memory_bytes": None},
    "namesake": {"cpu": "Quux(R) Zorb(TM) Whatsit 9000 Turbo @ 2.50GHz", "microarchitecture": "zorbwell"},
}
"""One with strange names, one with GPUs, one with none of the tools, and one whose processor has another's name.

What is not here, no machine tells.
"""
ALSO = {"microarchitecture": None, "driver": None, "cuda": None, "gpus": [], "virtual": None, "device": "CPU, 1 thread"}
UNSTEADY = {"before": {"step": 1.0}, "after": {"step": 2.5}, "stolen": None}
"""What the canary said around each of their pages."""
WORDS = sorted(
    {
        word
        for told in MADE_UP.values()
        for value in told.values()
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str)
        for word in re.findall(r"[A-Za-z]{4,}", text)
    }
    - {"Linux", "version", "build", "from", "Mini", "core", "fast", "Driver", "Kernel"}
)
"""The words of their names that nothing else on a page says."""


def add_machines(book: Book, template: Path, names: Sequence[str] = tuple(MADE_UP)) -> None:
    """Writes a record of made-up machines: the executions in ``template``, in that machine's environment.

    Where a claim reads what only such a machine records, there is a value of it.
    """
    claims = all_claims(book).values()
    for name in names:
        (book.records / name).mkdir(parents=True)
        for page in pages_with_cells(book):
            notebook = nbformat.read(template / f"{page}.ipynb", as_version=4)
            environment = {**notebook.metadata[KEY]["environment"], **ALSO, **MADE_UP[name]}
            notebook.metadata[KEY]["environment"] = environment
            notebook.metadata[KEY][canary.KEY] = UNSTEADY
            for cell in code_cells(notebook):
                for output in filter(stored, cell.outputs):
                    if content := output.data.get(PREFIX + MIME):
                        content.get("measurement", content)["environment"] = environment
            wanted = {key for claim in claims if claim.id.partition(".")[0] == page for key in claim.keys}
            for key in sorted(wanted - glue(notebook).keys()):
                code_cells(notebook)[0].outputs += recorded(key, Measurement((1.0, 1.5, 2.0), "1", "", 1, environment))
            nbformat.write(notebook, book.records / name / f"{page}.ipynb")


def recorded(key: str, value: object) -> list[nbformat.NotebookNode]:
    """Returns the outputs of a cell that recorded a value."""
    return [
        nbformat.v4.new_output(
            "display_data",
            data={PREFIX + mime: content for mime, content in data.items()},
            metadata={"scrapbook": {"name": name, "mime_prefix": PREFIX}},
        )
        for name, data in bundle(key, value).items()
    ]


def copy_book(root: Path, folder: Path) -> Book:
    """Writes a copy of a book into ``folder``, without its records, and with a link to the code that it quotes."""
    for name in ("_config.yml", "_toc.yml", "requirements.txt", "CITATION.cff"):
        shutil.copy(root / name, folder)
    shutil.copytree(root / "chapters", folder / "chapters")
    (folder / "code").symlink_to(root / "code")
    return Book(folder)
