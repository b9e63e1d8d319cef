"""Every figure and table that a committed record holds is readable in Chinese, however old the record is."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from booktools.claims.limits import registered
from booktools.claims.predictions import all_predictions
from booktools.show.catalogue import Catalogue
from booktools.show.render import themed_svg, translate_markup
from booktools.source.book import Book
from booktools.source.notebook import glue
from tests.conftest import ROOT

RECORDED = sorted(path.relative_to(ROOT / "records") for path in (ROOT / "records").glob("*/*.ipynb"))
TRANSLATE = {"image/svg+xml": themed_svg, "text/html": translate_markup}


@pytest.mark.parametrize("path", RECORDED, ids=str)
def test_no_label_of_what_its_page_shows_lacks_a_translation(path: Path) -> None:
    book, labels = Book(ROOT), Catalogue(ROOT / "chapters" / "labels.zh.po")
    page = book.page("zh", path.stem).read_text(encoding="utf-8")
    kept = glue(nbformat.read(book.records / path, as_version=4))
    shown = {key: bundle for key, bundle in kept.items() if key in page}
    assert shown
    for bundle in shown.values():
        for mime, content in bundle.items():
            if translate := TRANSLATE.get(mime):
                translate(content if isinstance(content, str) else "".join(content), labels)
    assert list(labels.missing) == []


def test_former_limits_are_readable_in_chinese() -> None:
    labels = Catalogue(ROOT / "chapters" / "labels.zh.po")
    for entry in registered(Book(ROOT)).values():
        for limit in {former.limit for former in entry.former} - {""}:
            labels.translate(limit)
    assert list(labels.missing) == []


def test_what_the_models_leave_out_is_readable_in_chinese() -> None:
    labels = Catalogue(ROOT / "chapters" / "labels.zh.po")
    for lacks in {each.lacks for given in all_predictions(Book(ROOT)).values() for each in given} - {""}:
        labels.translate(lacks)
    assert list(labels.missing) == []
