"""The edition of a machine with a GPU can be built: each label, key and claim is there on the GPU's path too."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.conftest import build
from tests.gpu.conftest import PAGES, ROOT, Rehearsals

MACHINE = "simulated-gpu"


def test_the_edition_of_a_gpu_is_built_without_a_warning(rehearsals: Rehearsals, tmp_path: Path) -> None:
    from rehearsal.execution import copy_of_the_book

    book = copy_of_the_book(tmp_path / "book")
    shutil.copytree(ROOT / "records", book.records)  # a page borrows from these what only a CPU records
    (book.records / MACHINE).mkdir()
    for page in PAGES:
        shutil.copy(rehearsals(page, 1).notebook, book.records / MACHINE)
    done = build(book, MACHINE=MACHINE)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "WARNING" not in done.stdout, done.stdout[-4000:]
    for page in PAGES:
        for folder in ("", "zh"):
            assert "NVIDIA H200" in (book.build / "html" / folder / f"{page}.html").read_text(encoding="utf-8")
