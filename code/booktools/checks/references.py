"""Find references that lead nowhere: labels, pages, citations, terms, claims and recorded keys.

Sphinx finds them too, but only when all has been executed and read. What is not certain passes here
(a key that a cell computes), for Sphinx to judge.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from booktools.claims.claims import all_claims
from booktools.executions.executions import execution, reading
from booktools.source.blocks import LINK
from booktools.source.book import Book, BookError, Language
from booktools.source.cache import cached, digest
from booktools.source.page import Page, page_at, source

_INLINE = re.compile(r"\{([\w:-]+)\}(`+)(.+?)\2(?!`)|(`+)(.+?)\4(?!`)", re.S)
"""A role, or a piece of code, in which what looks like a role is none."""
_LABELS = (
    re.compile(r"^\s*\(([^()\s]+)\)=\s*$", re.M),
    re.compile(r"^\s*:(?:label|name):[ \t]*(\S+)", re.M),
    re.compile(r"^\s*\$\$[ \t]*\(([^()\s]+)\)", re.M),
)
_KEYED = ("{glue}", "{glue:figure}", "{glue:math}", "{samples}", "{machines}", "{claim}")
DERIVED = re.compile(r"\.(?:iqr|percent)$")


@dataclass(frozen=True)
class Links:
    """What a page may be referred to by, what its glossary defines, and what it refers to: line, kind, target."""

    labels: frozenset[str]
    terms: frozenset[str]
    uses: tuple[tuple[int, str, str], ...]


def links(book: Book, page: Page) -> Links:
    """Returns the labels and references of a page."""
    return cached(book.cache, f"links-{page.name}", digest(page.text), lambda: _links(page))


def _links(page: Page) -> Links:
    labels = {label.lower() for pattern in _LABELS for label in pattern.findall(page.text)}
    terms = {block.text.lower() for block in page.blocks if block.kind == "glossary term"}
    return Links(frozenset(labels), frozenset(terms), tuple(_uses(page)))


def _uses(page: Page) -> Iterator[tuple[int, str, str]]:
    for block in page.blocks:
        if block.kind in _KEYED:
            argument = (block.same or block.text).partition("\n")[0]
            yield from ((block.line, block.kind.strip("{}"), name) for name in argument.split())
        for match in _INLINE.finditer(block.text):
            if match[1]:
                target = match[3].rpartition("<")[2].rstrip(">") if match[3].endswith(">") else match[3]
                yield block.line + block.text.count("\n", 0, match.start()), match[1], target.strip()
        prose = _INLINE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), block.text)
        for match in LINK.finditer(prose):
            yield block.line + prose.count("\n", 0, match.start()), "link", match[1]


def problems(book: Book) -> list[str]:
    """Returns every reference that leads nowhere, as messages with file and line."""
    known = Known(book)
    found = []
    for language in book.languages:
        pages = {name: page_at(book, book.page(language.code, name)) for name in book.pages}
        for name, page in pages.items():
            for line, kind, target in links(book, page).uses:
                if why := known.lacks(language, name, kind, target):
                    found.append(
                        f"{book.relative(page.path)}:{line}: {{{kind}}} {target}: {why}".replace("{link} ", "")
                    )
    return found


KEYED = {"glue", "glue:text", "glue:figure", "glue:math", "machines", "samples", "here", "recorded", "speed"}
"""What names the key of a record."""


class Known:
    """What there is to refer to."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.claims = all_claims(book)
        self.labels: dict[Language, set[str]] = {}
        self.terms: dict[Language, set[str]] = {}
        for language in book.languages:
            found = [links(book, page_at(book, book.page(language.code, name))) for name in book.pages]
            self.labels[language] = {label for each in found for label in each.labels}
            self.terms[language] = {term for each in found for term in each.terms}
        self.citations = _citations(book)
        self._keys: dict[str, Keys] = {}

    def lacks(self, language: Language, page: str, kind: str, target: str) -> str:
        """Returns why a reference on ``page`` leads nowhere, or an empty string."""
        if kind in ("ref", "numref", "eq", "prf:ref"):
            return "" if target.lower() in self.labels[language] else f"there is no label {target!r}"
        if kind == "doc":
            return "" if target.strip("/") in self.book.pages else f"there is no page {target!r} in _toc.yml"
        if kind.partition(":")[0] == "cite":
            lacking = [key for key in map(str.strip, target.split(",")) if key.lower() not in self.citations]
            return f"references.bib has no {', '.join(map(repr, lacking))}" if lacking else ""
        if kind == "term":
            return "" if target.lower() in self.terms[language] else f"the glossary has no {target!r}"
        if kind == "claim":
            own = target in self.claims and target.partition(".")[0] == page
            return "" if own else f"there is no claim {target!r} in chapters/claims/{page}.py"
        if kind == "link":
            return self._lacks_link(language, page, target)
        if kind in KEYED:
            return self._lacks_key(page, kind, target)
        return ""

    def _lacks_link(self, language: Language, page: str, target: str) -> str:
        path, _, label = target.partition("#")
        if re.match(r"[a-z]+:", target):
            return ""
        there = path.removesuffix(".md") in self.book.pages or path.lower() in self.labels[language]
        if path and not there and not (self.book.chapters / language.code / path).exists():
            return f"there is no page or file {path!r}"
        return "" if not label or label.lower() in self.labels[language] else f"there is no label {label!r}"

    def _lacks_key(self, page: str, kind: str, target: str) -> str:
        if kind.startswith("glue"):
            there, found, key = target.rpartition("::")
            page, key = (there.removesuffix(".md") if found else page), key.partition(":")[0]
        else:
            page, key = target.partition(".")[0], target
        if page not in self.book.pages:
            return f"there is no page {page!r} in _toc.yml"
        if page not in self._keys:
            self._keys[page] = keys(self.book, page)
        return "" if self._keys[page].has(key) else f"no machine has a record {key!r}, and no cell records it"


def _citations(book: Book) -> frozenset[str]:
    path = book.chapters / "references.bib"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""

    def read() -> frozenset[str]:
        from pybtex.database import parse_string

        try:
            return frozenset(key.lower() for key in parse_string(text, "bibtex").entries)
        except Exception as error:
            raise BookError(f"{book.relative(path)}: cannot be read: {error}") from None

    return cached(book.cache, "citations", digest(text), read)


@dataclass(frozen=True)
class Keys:
    """The keys that a page records: those that executions have, and those that its cells can be seen to record."""

    names: frozenset[str]
    patterns: tuple[str, ...] = ()

    def has(self, key: str) -> bool:
        """Returns whether the page records ``key``, or may do so."""
        plain = DERIVED.sub("", key)
        return bool({key, plain} & self.names) or any(re.fullmatch(pattern, plain) for pattern in self.patterns)


def keys(book: Book, page: str) -> Keys:
    """Returns the keys of a page: of its recorded executions, of this machine's, and those that its cells name.

    A cell may record only where it can, and text by outcome glue that only there. What a cell does not name but
    compute, such as an f-string, counts where no execution tells what it came to.
    """
    recorded = [reading(book, path) for path in sorted(book.records.glob(f"*/{page}.ipynb"))]
    names = {name for each in recorded for name in each.keys}
    try:
        done = execution(book, page)
    except BookError:  # Cut off half-way: it is executed anew.
        done = None
    now = source(book, page)
    made_of = digest(repr([cell.source for cell in now.cells]))
    seen = cached(book.cache, f"keys-{page}", made_of, lambda: keys_of(now.trees(book)))
    if done:
        return Keys(frozenset(names | done.reading.keys | seen.names))
    return Keys(frozenset(names | seen.names), seen.patterns)


def keys_of(trees: list[ast.Module]) -> Keys:
    """Returns the keys that cells may record: any string in them, any shape of an f-string, all if one is computed."""
    names: set[str] = set()
    patterns: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            patterns.add("".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".*" for p in node.values))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "record":
            first = node.args[0] if node.args else None
            if not isinstance(first, ast.Constant | ast.JoinedStr):
                patterns.add(".*")
    return Keys(frozenset(names), tuple(sorted(patterns)))
