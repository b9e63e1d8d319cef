"""The edition of a machine with a GPU can be built: each label, key and claim is there on the GPU's path too."""

from __future__ import annotations

from pathlib import Path

import pytest
from rehearsal.execution import copy_of_the_book

from booktools.checks.check import problems
from tests.editions import MACHINE, add_records, assert_built, build_languages
from tests.gpu.conftest import PAGES, Rehearsals


def test_the_edition_of_a_gpu_is_built_without_a_warning(rehearsals: Rehearsals, tmp_path: Path) -> None:
    book = copy_of_the_book(tmp_path / "book")
    add_records(book, lambda page: rehearsals(page, 1).notebook)
    assert not problems(book)
    built = build_languages(book)
    warnings = [line for _, said in built.values() for line in said.splitlines() if "WARNING" in line]
    if warnings and all("no machine has" in line for line in warnings):
        pytest.skip("recorded on no machine yet, and the GPU does not measure it: " + "; ".join(warnings))
    assert_built(built)
    site = book.build / "work" / MACHINE / "html"
    for page in PAGES:
        for folder in ("", "zh"):
            assert "NVIDIA H200" in (site / folder / f"{page}.html").read_text(encoding="utf-8")
