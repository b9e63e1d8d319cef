"""References that lead nowhere are found in the sources, in every language, with their lines; no others are."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest

from booktools.checks import references
from booktools.checks.references import keys_of, problems
from booktools.source.book import Book
from tests.conftest import ROOT, edit

LINE = {"en": "Like this.", "zh": "像这样。"}


def test_the_book_s_references_lead_somewhere() -> None:
    assert problems(Book(ROOT)) == []


def test_the_tiny_book_s_do_before_anything_was_executed(tiny: Book) -> None:
    assert problems(tiny) == []


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ref}`nowhere`", "{ref} nowhere: there is no label 'nowhere'"),
        ("{ref}`this <nowhere>`", "there is no label 'nowhere'"),
        ("{numref}`nowhere`", "there is no label 'nowhere'"),
        ("{eq}`tiny-eq`", "there is no label 'tiny-eq'"),
        ("{doc}`tinny`", "there is no page 'tinny'"),
        ("{cite}`tiny2026,tiny2027`", "references.bib has no 'tiny2027'"),
        ("{term}`thing <nothing>`", "the glossary has no 'nothing'"),
        ("{glue:text}`tiny.sun`", "no machine has a record 'tiny.sun', and no cell records it"),
        ("{glue:text}`tiny.sun.iqr`", "no machine has a record 'tiny.sun.iqr'"),
        ("{glue:text}`tiny.md::tiny.sun:.2f`", "no machine has a record 'tiny.sun'"),
        ("{here}`tinny.sum`", "there is no page 'tinny'"),
        ("[there](tinny.md)", "tinny.md: there is no page or file 'tinny.md'"),
        ("[there](tiny.md#nowhere)", "there is no label 'nowhere'"),
        ("```{glue:figure} tiny.picture\nA.\n```", "no machine has a record 'tiny.picture'"),
        ("```{machines} tiny.sum tiny.sun\n```", "{machines} tiny.sun: no machine has a record 'tiny.sun'"),
        ("```{claim} tiny.negative\nA.\n```", "there is no claim 'tiny.negative' in chapters/claims/tiny.py"),
    ],
)
def test_what_leads_nowhere_is_named_with_its_line(tiny: Book, language: str, text: str, message: str) -> None:
    path = tiny.page(language, "tiny")
    edit(path, LINE[language], f"A\nB {text}" if text[0] != "`" else f"A\n\n{text}")
    line = path.read_text(encoding="utf-8").splitlines().index(text.splitlines()[0] if text[0] == "`" else f"B {text}")
    (found,) = problems(tiny)
    assert found.startswith(f"chapters/{language}/tiny.md:{line + 1}: "), found
    assert message in found


@pytest.mark.parametrize(
    "text",
    [
        "{ref}`tiny-measure`",
        "{ref}`Tiny-Measure`",
        "{numref}`tiny-figure`",
        "{numref}`Figure %s <tiny-figure>`",
        "{ref}`tiny-ex-1`",
        "{doc}`tiny`",
        "{cite:t}`tiny2026`",
        "{glue:text}`tiny.sum.iqr`",
        "{glue:text}`tiny.md::tiny.sum:.2f`",
        "[there](tiny.md#tiny-measure)",
        "[there](#tiny-measure)",
        "[there](https://example.org/nowhere)",
        "``{ref}`nowhere` `` and `{doc}`",
        "`[x](nowhere.md)`",
    ],
)
def test_what_leads_somewhere_passes(tiny: Book, text: str) -> None:
    edit(tiny.page("en", "tiny"), "Like this.", text)
    assert problems(tiny) == []


def test_an_equation_is_found_by_its_label(tiny: Book) -> None:
    edit(tiny.page("en", "tiny"), "Like this.", "$$\na = b\n$$ (tiny-eq)\n\n{eq}`tiny-eq`")
    assert problems(tiny) == []


def test_what_a_cell_records_only_elsewhere_may_be_glued_here(tiny: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text by outcome glues what this machine, which has executed the page, could not record."""
    here = SimpleNamespace(reading=SimpleNamespace(keys=frozenset({"tiny.sum", "tiny.figure", "tiny.table"})))
    monkeypatch.setattr(references, "execution", lambda book, page: here)
    for language in ("en", "zh"):
        path = tiny.page(language, "tiny")
        edit(
            path,
            'record("tiny.size", 1000)\n',
            'if total < 0:\n    record("tiny.gain", 2)\nrecord("tiny.size", 1000)\n',
        )
        edit(path, LINE[language], "{glue:text}`tiny.gain`")
    assert problems(tiny) == []
    edit(tiny.page("en", "tiny"), "{glue:text}`tiny.gain`", "{glue:text}`tiny.grain`")
    assert len(problems(tiny)) == 1


def test_keys_that_a_cell_computes_are_not_judged() -> None:
    found = keys_of([ast.parse('record(f"p.{name}-time", 1)\nrecord("p.literal", 2)')])
    assert found.has("p.matmul-time")
    assert found.has("p.literal.iqr")
    assert not found.has("p.matmul")
    assert keys_of([ast.parse("for key in table: record(key, 1)")]).has("p.anything")
