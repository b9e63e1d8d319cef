"""Compare the languages: pages, cells, labels, the sequence of blocks, equations, citations, terms.

`problems` names page, line and both texts. Blocks are paired by their places, entries of a glossary by the English term
(`booktools.checks.glossary`). To use a word of `terms.csv` in another sense, write
``% not a term: push, rank`` on a line before the block, in the first language.
"""

from __future__ import annotations

import csv
import functools
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial

from booktools.checks import glossary
from booktools.claims.outcomes import PHRASE, parts_of
from booktools.source.blocks import LINK, MATH, Block, roles, words
from booktools.source.book import Book, Language
from booktools.source.cache import cached, digest
from booktools.source.page import Page, page_at

SAME_ROLES = {
    "glue:text",
    "glue",
    "glue:",
    "cite",
    "cite:p",
    "cite:t",
    "ref",
    "numref",
    "eq",
    "doc",
    "prf:ref",
    "given",
    "here",
    "recorded",
    "speed",
}
"""Roles whose content may not differ; of {given}, only the digits count, for its unit may be a word."""


def problems(book: Book) -> list[str]:
    """Returns what differs between the first language and each other one, as messages."""
    first = book.languages[0]
    found = missing(book)
    if found:
        return found
    for language in book.languages[1:]:
        known = terms(book, language.code)
        for page in book.pages:
            ours, theirs = (page_at(book, book.page(each.code, page)) for each in (first, language))
            made_of = digest(ours.text, theirs.text, repr(known))
            found += cached(book.cache, f"parity-{theirs.name}", made_of, partial(_pair, book, ours, theirs, known))
    return found


def _pair(book: Book, ours: Page, theirs: Page, known: list[Term]) -> list[str]:
    return _cells(book, ours, theirs) + _pages(book, ours, theirs, known)


def missing(book: Book) -> list[str]:
    """Returns the pages that _toc.yml lists and a language lacks, and those that it does not list, as messages."""
    return [problem for language in book.languages for problem in _missing(book, language)]


def _missing(book: Book, language: Language) -> list[str]:
    folder = book.chapters / language.code
    have = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.md")}
    lacking = [f"_toc.yml: lists {page!r}, but {book.relative(book.page(language.code, page))} does not exist"
               for page in book.pages if page not in have]  # fmt: skip
    surplus = [
        f"{book.relative(book.page(language.code, page))}: is not in _toc.yml"
        for page in sorted(have - set(book.pages))
    ]
    return lacking + surplus


def _cells(book: Book, ours: Page, theirs: Page) -> list[str]:
    here, there = book.relative(ours.path), book.relative(theirs.path)
    for number, (x, y) in enumerate(zip(ours.cells, theirs.cells, strict=False), 1):
        if (x.source, x.options) != (y.source, y.options):
            return [f"{there}:{y.line}: cell {number} differs from {here}:{x.line}; "
                    f"cells are byte-identical in all languages{_first_difference(x.source, y.source)}"]  # fmt: skip
    if len(ours.cells) != len(theirs.cells):
        return [f"{there}: has {len(theirs.cells)} cells, {here} has {len(ours.cells)}"]
    return []


def _first_difference(a: str, b: str) -> str:
    for x, y in zip(a.splitlines(), b.splitlines(), strict=False):
        if x != y:
            return f"\n    {x}\n    {y}"
    return " (their options or their lengths differ)"


def _pages(book: Book, ours: Page, theirs: Page, known: list[Term]) -> list[str]:
    left = ours.blocks
    right, hindered = glossary.paired(left, theirs.blocks)
    if hindered:
        return [f"{book.relative(theirs.path)}:{problem}" for problem in hindered]

    def message(a: Block, b: Block, what: str) -> str:
        return (f"{book.relative(theirs.path)}:{b.line}: {what} (aligned with {book.relative(ours.path)}:{a.line})"
                f"\n    {_short(a)}\n    {_short(b)}")  # fmt: skip

    for a, b in zip(left, right, strict=False):
        if a.kind != b.kind:
            return [message(a, b, f"here stands a {b.kind}, there a {a.kind}: the blocks no longer align from here on")]
    if len(left) != len(right):
        longer, path = (left, ours.path) if len(left) > len(right) else (right, theirs.path)
        extra = longer[min(len(left), len(right))]
        return [f"{book.relative(path)}:{extra.line}: has no counterpart in the other language\n    {_short(extra)}"]
    found = []
    for a, b in zip(left, right, strict=True):
        if a.same != b.same:
            found.append(message(a, b, f"the {a.kind} differs") + f"\n    {a.same.strip()!r}\n    {b.same.strip()!r}")
        for what, x, y in _inline(a.text, b.text):
            if x != y:
                found.append(message(a, b, f"{what} differ: {_list(x - y)} against {_list(y - x)}"))
        for term in lacking_terms(a.text, b.text, known, ours.excused.get(a.line, set())):
            found.append(message(a, b, f"{term.source!r} is {term.target!r} in terms.csv, which is not in this block"))
    return found


def _phrases(text: str) -> Counter[str]:
    """Returns the phrases by outcome, each with its number of parts."""
    return Counter(f"{name} in {len(parts_of(phrase))} parts" for phrase, name in PHRASE.findall(text))


def _inline(a: str, b: str) -> list[tuple[str, Counter[str], Counter[str]]]:
    def marks(text: str) -> tuple[Counter[str], Counter[str], Counter[str], Counter[str]]:
        same = Counter(_mark(name, content) for name, content in roles(text) if name in SAME_ROLES)
        formulas = MATH.findall(re.sub(r"`[^`]*`", "", text))
        # A formula may be named once more in one language: its presence counts, not how often.
        return same, Counter(LINK.findall(text)), Counter({_bare(formula) for formula in formulas}), _phrases(text)

    return [
        (n, x, y)
        for n, x, y in zip(("references", "links", "formulas", "phrases by outcome"), marks(a), marks(b), strict=True)
    ]


def _mark(name: str, content: str) -> str:
    if name == "given":
        return "{given} " + " ".join(re.findall(r"\d[\d.,]*", content))
    return f"{{{name}}}`{content.split('<')[-1].rstrip('>')}`"


def _bare(formula: str) -> str:
    return re.sub(r"\s|\\[,;: ]|\\(text|mathrm)\{[^{}]*\}", "", formula)


def _list(counter: Counter[str]) -> str:
    return ", ".join(sorted(counter)) or "nothing"


def _short(block: Block) -> str:
    text = block.text or block.same
    return text.strip().replace("\n", " ")[:160] or block.kind


@dataclass(frozen=True)
class Term:
    """A term and its fixed translation, or several with a bar between them; and what finds it in running text."""

    source: str
    target: str
    pattern: re.Pattern[str]

    @property
    def targets(self) -> list[str]:
        """The translations any of which will do, as text is compared."""
        return self.target.lower().replace(" ", "").split("|")


def _pattern(term: str) -> re.Pattern[str]:
    words_ = [re.escape(word) for word in re.split(r"[\s–-]+", term)]
    stem = r"[\s–-]+".join(words_)
    plural = f"{stem[:-1]}(?:y|ies)" if stem.endswith("y") else f"{stem}(?:s|es)?"
    return re.compile(rf"(?<![\w-]){plural}(?:['’]s?)?(?![\w-])", re.I)


@functools.cache
def terms(book: Book, code: str) -> list[Term]:
    """Returns the fixed terms for a language, longest first, so that `cache line` is found before `cache`."""
    with (book.chapters / "terms.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get(code)]
    found = [Term(row["en"], row[code], _pattern(row["en"])) for row in rows]
    return sorted(found, key=lambda term: -len(term.source))


def lacking_terms(text: str, translated: str, known: list[Term], excused: set[str]) -> list[Term]:
    """Returns the terms that stand in ``text`` but whose translations do not stand in ``translated``."""
    rest = words(text)
    shown = re.sub(r"\s+|[*_]", "", words(translated)).lower()
    lacking = []
    for term in known:
        remaining = term.pattern.sub(" ", rest)
        if remaining != rest and term.source not in excused and not any(target in shown for target in term.targets):
            lacking.append(term)
        rest = remaining
    return lacking
