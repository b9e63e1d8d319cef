"""What stands around the pages: addresses of scripts and style sheets, titles of folds."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from booktools.site import look
from booktools.source.book import Book
from booktools.source.page import pages_with_cells, source
from tests.conftest import ROOT


def test_the_mark_of_scripts_and_styles_follows_from_their_content_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = look.mark_of_files.__wrapped__()
    shutil.copytree(look.THEME, tmp_path / "theme")
    for path in (tmp_path / "theme").rglob("*"):
        os.utime(path, (1, 1))
    monkeypatch.setattr(look, "THEME", tmp_path / "theme")
    assert look.mark_of_files.__wrapped__() == before
    (tmp_path / "theme" / "static" / "book.css").write_text("p {}", encoding="utf-8")
    assert look.mark_of_files.__wrapped__() != before


@pytest.mark.parametrize(
    ("code", "so"),
    [
        ("import torch\n\nfrom dlperf import plot\nfrom dlperf.records import record\ndevice = 1", True),
        ("from dlperf import plot\n\nif plot:\n    record('page.key', 1)", False),
        ("device = 1  # import nothing", False),
        ("record('page.key', 1)", False),
    ],
)
def test_a_fold_of_imports_is_told_from_one_that_records(code: str, so: bool) -> None:
    assert look.only_imports(code) == so


def test_the_fold_of_imports_says_so_in_the_words_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    document = new_document("page")
    for code in ("import torch", "from dlperf.records import record\nrecord('page.key', 1)"):
        fold = nodes.container(hide_mode="input", prompt_show="records", prompt_hide="records")
        fold += nodes.literal_block(code, code)
        document += fold
    here = SimpleNamespace(catalogue=SimpleNamespace(translate=str.upper, missing=set()))
    monkeypatch.setattr(look, "current", lambda: here)
    monkeypatch.setattr(look, "report_missing", lambda location: None)
    look.NameImports(document).apply()
    assert [fold["prompt_show"] for fold in document] == ["IMPORTS AND SETTINGS", "records"]


# The first folds of these two start processes beside their imports.
@pytest.mark.parametrize("page", [page for page in pages_with_cells(Book(ROOT)) if page not in ("multigpu", "concise")])
def test_what_a_page_imports_from_dlperf_is_shown_or_stands_in_a_fold_of_imports(page: str) -> None:
    cells = [cell for cell in source(Book(ROOT), page).cells if re.search("^from dlperf", cell.source, re.M)]
    assert cells
    assert all(cell.is_visible or look.only_imports(cell.source) for cell in cells)
