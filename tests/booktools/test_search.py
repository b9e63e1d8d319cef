"""What searching looks through; how it searches is tested in the browser."""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path

import pytest
from docutils import nodes
from sphinx.addnodes import glossary, pending_xref

from booktools.book import Book
from booktools.search import names, plain, sections, synonyms

ROOT = Path(__file__).resolve().parents[2]


def content(*children: nodes.Node) -> nodes.container:
    return nodes.container("", nodes.paragraph("", "", *children))


def test_a_text_has_no_citation_and_no_numbered_formula() -> None:
    cited = pending_xref("", nodes.inline("", "amdahl1967"), refdomain="cite", reftype="p", reftarget="amdahl1967")
    numbered = pending_xref("", nodes.inline("", "law"), refdomain="math", reftype="eq", reftarget="law")
    assert (
        plain(content(nodes.Text("The law "), cited, nodes.Text(". See "), numbered, nodes.Text("!")))
        == "The law. See !"
    )


def test_a_text_keeps_short_formulas_as_letters() -> None:
    formula = nodes.math("", r"t_\mathrm{e} + \alpha")
    assert plain(content(nodes.Text("It takes "), formula)) == "It takes t_e + alpha"


def test_code_counts_by_its_names_without_comments_and_strings() -> None:
    code = 'x = torch.compile(model)  # never twice\nx.pin_memory("hidden words")'
    shown = nodes.container("", nodes.paragraph("", "Text."), nodes.literal_block(code, code))
    output = nodes.literal_block("elapsed", "elapsed", classes=["output", "stream"])
    shown.append(output)
    assert names(shown) == "torch.compile model x.pin_memory"
    assert plain(shown) == "Text."


def test_terms_are_found_on_their_own() -> None:
    term = nodes.term("", "median", ids=["term-median"])
    item = nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", "The middle.")))
    words = glossary("", nodes.definition_list("", item))
    document = nodes.document(None, None)  # type: ignore[arg-type]
    document.append(nodes.section("", nodes.title("", "Glossary"), words, ids=["glossary"]))
    assert sections(document, "glossary") == [
        ["glossary", "glossary", "Glossary", "", ""],
        ["glossary", "term-median", "median", "The middle.", ""],
    ]


@pytest.mark.parametrize(
    ("code", "other", "term"), [("en", "固定内存", "pinned memory"), ("zh", "page-locked memory", "锁页内存")]
)
def test_readers_words_hold_in_every_language(code: str, other: str, term: str) -> None:
    found = synonyms(Book(ROOT), code)
    assert [words[0] for words in found if other in words] == [term]


def test_no_reader_s_word_is_given_twice_to_a_term() -> None:
    with (ROOT / "chapters" / "terms.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    said = {row["en"]: [*row["zh"].split("|"), row["en"], *filter(None, row["also"].split("|"))] for row in rows}
    lower = {term: [word.lower() for word in words] for term, words in said.items()}
    assert {term: words for term, words in lower.items() if len(set(words)) < len(words)} == {}
    assert sum(bool(row["also"]) for row in rows) >= 60


def test_minisearch_is_the_package_that_its_head_names() -> None:
    text = (ROOT / "code" / "booktools" / "theme" / "static" / "minisearch.js").read_text(encoding="utf-8")
    head, _, package = text.partition(" */\n")
    noted = re.search(r"sha256 ([0-9a-f]{64})", head)
    assert noted
    assert hashlib.sha256(package.encode()).hexdigest() == noted[1]
    assert "MIT License" in head
