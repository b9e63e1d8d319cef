"""The lists that every chapter must enter agree with `_toc.yml`, and the paths that the documents name exist."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path

import pytest

import dlperf
from booktools.executions.short import SECONDS
from booktools.source.book import Book
from booktools.source.notebook import code_cells, read_page
from booktools.source.page import pages_with_cells
from tests.conftest import ROOT
from tests.test_every_drawing import CHAPTERS as DRAWINGS
from tests.test_structure import CHAPTERS, PAGES, SPINE

BOOK = Book(ROOT)
CHAPTER_PAGES = pages_with_cells(BOOK)
"""The pages that are executed, in the order of `_toc.yml`."""
PACKAGES = [PAGES.get(page, page) for page in CHAPTER_PAGES]
NO_PAGE = {"kvstore"}
"""The packages in `CHAPTERS` that have no page of their own."""
DOCUMENTS = [
    ROOT / "CONTRIBUTING.md",
    *ROOT.glob("README*.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("tests/**/README.md"),
]


def linked(language: str) -> set[str]:
    """Returns the chapters to which the first page of a language links."""
    text = BOOK.page(language, "index").read_text(encoding="utf-8")
    return set(re.findall(r"\]\(([\w-]+)\.md\)", text)) & set(CHAPTER_PAGES)


LISTS: dict[str, tuple[Collection[str], list[str]]] = {
    "chapters/claims/*.py": ({path.stem for path in (BOOK.chapters / "claims").glob("*.py")}, CHAPTER_PAGES),
    "chapters/claims/limits.json": (
        {claim.partition(".")[0] for claim in json.loads((BOOK.chapters / "claims/limits.json").read_text("utf-8"))},
        CHAPTER_PAGES,
    ),
    "SECONDS in booktools.executions.short": (SECONDS.keys(), CHAPTER_PAGES),
    "CHAPTERS in tests/test_structure.py": (set(CHAPTERS) - NO_PAGE, PACKAGES),
    **{f"chapters/{each.code}/index.md": (linked(each.code), CHAPTER_PAGES) for each in BOOK.languages},
}
"""What stands in each list, and what should by `_toc.yml`."""


@pytest.mark.parametrize("name", LISTS)
def test_a_list_names_the_chapters_of_the_table_of_contents(name: str) -> None:
    found, expected = LISTS[name]
    assert sorted(found) == sorted(expected)


def test_packages_stand_in_the_order_of_the_table_of_contents() -> None:
    assert [chapter for chapter in CHAPTERS if chapter not in NO_PAGE] == PACKAGES


def test_the_docstring_of_dlperf_has_a_line_for_each_of_its_parts_and_chapters_in_order() -> None:
    mapped = re.findall(r"^``(\w+)``", dlperf.__doc__ or "", re.M)
    assert sorted(mapped[: -len(CHAPTERS)]) == sorted(SPINE)
    assert mapped[-len(CHAPTERS) :] == CHAPTERS


@pytest.mark.parametrize("page", CHAPTER_PAGES)
def test_a_drawing_that_a_page_makes_of_nothing_measured_is_looked_at(page: str) -> None:
    cells = "\n".join(cell.source for cell in code_cells(read_page(BOOK.page("en", page))))
    drawn = set(re.findall(r'fig-[\w-]+", drawings\w*\.(\w+)\(\)', cells))
    assert drawn <= {draw.__name__ for draw in DRAWINGS.get(PAGES.get(page, page), {}).values()}


@pytest.mark.parametrize("document", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_paths_of_tests_that_a_document_names_exist(document: Path) -> None:
    named = set(re.findall(r"(?<![\w/])tests/[\w./*-]*[\w*/]", document.read_text(encoding="utf-8")))
    assert sorted(name for name in named if not list(ROOT.glob(name))) == []
