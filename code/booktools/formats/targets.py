"""Resolve cross-references and citations in exported notebooks to titles, numbers and bibliography entries.

Exercises, figures and equations are numbered through the book, in reading order, as on its pages.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any

from booktools.source.book import Book, BookError, Language
from booktools.source.page import page_at, pages_with_cells

_HEADING = re.compile(r"^\(([^()\s]+)\)=\s*\n#+ +(.+)$", re.M)
_EXERCISE = re.compile(r"^[`:]{3,}\{exercise\}.*\n(?::[\w-]+:.*\n)*?:label:[ \t]*(\S+)", re.M)
_FIGURE = re.compile(r"^[`:]{3,}\{glue:figure\}.*\n(?::[\w-]+:.*\n)*?:name:[ \t]*(\S+)", re.M)
_EQUATION = re.compile(r"^.*\$\$[ \t]*\(([^()\s]+)\)\s*$", re.M)


@dataclass
class Targets:
    """Everything in one language that a reference may name, by its label; ``cited`` collects what was cited, by key.

    ``names`` holds what a reference to a section, an exercise or a figure says, ``links`` the pages that are notebooks
    too.
    """

    names: dict[str, str]
    equations: dict[str, int]
    sources: dict[str, tuple[str, str]]
    notebooks: frozenset[str]
    cited: dict[str, str] = field(default_factory=dict)

    def reference(self, label: str, shown: str) -> str:
        """Returns what a reference says: ``shown``, or the name of what ``label`` stands before."""
        if label.lower() not in self.names:
            raise BookError(f"a plain notebook has no name for the label {label!r}")
        return shown or self.names[label.lower()]

    def equation(self, label: str) -> int:
        """Returns the number of an equation."""
        return self.equations[label.lower()]

    def citation(self, key: str) -> str:
        """Returns what stands for a source in the text, and notes that it was cited."""
        short, whole = self.sources[key.lower()]
        self.cited[short] = whole
        return short

    def link(self, shown: str, page: str) -> str:
        """Returns a link to another page's notebook, or the words alone where it has none."""
        return f"[{shown}]({page}.ipynb)" if page in self.notebooks else shown


def targets(book: Book, language: Language, say: Callable[[str], str]) -> Targets:
    """Returns what all pages of a language can be referred to by."""
    names: dict[str, str] = {}
    found: dict[re.Pattern[str], list[str]] = {_EXERCISE: [], _FIGURE: [], _EQUATION: []}
    for name in book.pages:
        text = page_at(book, book.page(language.code, name)).text
        names |= {label.lower(): title.strip() for label, title in _HEADING.findall(text)}
        for pattern, labels in found.items():
            labels += pattern.findall(text)
    for word, pattern in (("Exercise", _EXERCISE), ("Figure", _FIGURE)):
        names |= {label.lower(): say(f"{word} {n}") for n, label in enumerate(found[pattern], 1)}
    equations = {label.lower(): n for n, label in enumerate(found[_EQUATION], 1)}
    return Targets(names, equations, sources(book), frozenset(pages_with_cells(book)))


@functools.cache
def sources(book: Book) -> dict[str, tuple[str, str]]:
    """Returns each entry of the bibliography by its key: how the text names it, and its author, title and address."""
    from pybtex.database import parse_file

    found: dict[str, tuple[str, str]] = {}
    named: dict[str, int] = Counter()
    entries = parse_file(str(book.chapters / "references.bib"), bib_format="bibtex").entries
    shorts = Counter(_short(key, entry) for key, entry in entries.items())
    for key, entry in entries.items():
        people = [" ".join(person.last_names) for person in entry.persons.get("author", [])]
        title, year = _words(entry.fields.get("title", key)), entry.fields.get("year", "")
        address = entry.fields.get("url") or (f"https://doi.org/{doi}" if (doi := entry.fields.get("doi")) else "")
        short = _short(key, entry)
        named[short] += 1
        if shorts[short] > 1:
            short += ascii_lowercase[named[short] - 1]
        whole = ", ".join(
            filter(None, [_words(", ".join(people)), f"*{title}*", year, f"<{address}>" if address else ""])
        )
        found[key.lower()] = short, whole
    return found


def _short(key: str, entry: Any) -> str:
    """Returns the first author's last name, or else the key, and the year."""
    people = entry.persons.get("author", [])
    author = " ".join(people[0].last_names) if people else key
    return _words(f"{author} {entry.fields.get('year', '')}")


def _words(text: str) -> str:
    """Returns text of a bibliography without the braces and escapes of TeX."""
    text = re.sub(r"[{}]", "", re.sub(r"\\([_&%#$])", r"\1", text)).replace("--", "–")
    return re.sub(r"\s+", " ", text).strip()
