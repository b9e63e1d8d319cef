"""{changes}, {citation}: what changed from version to version, and how the book is cited.

Changes are kept in `CHANGELOG.md` for the first language and in `CHANGELOG.<language>.md` for each other,
point by point the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from booktools.book import Book, BookError, Language
from booktools.edition import current
from booktools.provenance import CITATION, citation, site_address
from booktools.render import report_missing

HEAD = re.compile(r"^## (\S+) \((.+)\)$", re.M)


@dataclass(frozen=True)
class Version:
    """A version and what it changed; ``date`` is in ISO 8601, and empty until it is released."""

    name: str
    date: str
    points: tuple[str, ...]


def changelog(book: Book, language: Language) -> list[Version]:
    """Returns the versions as a language tells them, the latest first; BookError names what another does not tell."""
    first, path = path_of(book, book.languages[0]), path_of(book, language)
    versions, original = read(path), read(first)
    for told, meant in zip_longest(versions, original):
        if _outline(told) != _outline(meant):
            raise BookError(
                f"{path}: tells of {_outline(told)}, {first.name} of {_outline(meant)}; each belongs into both"
            )
    return versions


def _outline(version: Version | None) -> str:
    if version is None:
        return "no further version"
    return f"{version.name} ({version.date or 'unreleased'}) with {len(version.points)} changes"


def path_of(book: Book, language: Language) -> Path:
    """Returns the file of changes of a language; one that has none of its own shows that of the first."""
    own = book.root / f"CHANGELOG.{language.code}.md"
    return own if own.is_file() and language != book.languages[0] else book.root / "CHANGELOG.md"


def read(path: Path) -> list[Version]:
    """Returns the versions that a file tells; BookError says what a head must look like."""
    try:
        _, *parts = HEAD.split(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BookError(f"{path}: tells what changed, and cannot be read: {error.strerror}") from None
    if not parts:
        raise BookError(f"{path}: no version; a head such as '## 0.1.0 (2026-11-24)' or '(unreleased)' would do")
    found = []
    for name, date, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        points = tuple(re.sub(r"\s*\n\s+", " ", point).strip() for point in re.split(r"^- ", body, flags=re.M)[1:])
        found.append(Version(name, "" if date == "unreleased" else date, points))
    return found


class ChangesDirective(SphinxDirective):
    """``{changes}``: every version, the latest first, with what it changed."""

    def run(self) -> list[nodes.Node]:
        for language in current().book.languages:
            current().note("file", path_of(current().book, language).name)
        say = current().catalogue.translate
        found: list[nodes.Node] = []
        for version in changelog(current().book, current().language):
            found.append(nodes.rubric("", f"{version.name} ({version.date or say('not released yet')})"))
            lines = [f"- {point}" for point in version.points]
            box = nodes.container()
            self.state.nested_parse(StringList(lines, "CHANGELOG"), self.content_offset, box)
            found += box.children
        report_missing(self.get_location())
        return found


class CitationDirective(SphinxDirective):
    """``{citation}``: how the book is cited, in words and for BibTeX, from `CITATION.cff`."""

    def run(self) -> list[nodes.Node]:
        for name in (CITATION, "_config.yml"):
            current().note("file", name)
        said, say = citation(current().book), current().catalogue.translate
        authors = [author["name"] for author in said["authors"]]
        address = site_address(current().book)
        words = say("{authors}. {title}. Version {version}.").format(
            authors=", ".join(map(say, authors)), title=say(said["title"]), version=said["version"]
        )
        line = nodes.paragraph("", words)
        if address:
            line += [nodes.Text(" "), nodes.reference("", address, refuri=address)]
        report_missing(self.get_location())
        text = bibtex(said["title"], authors, str(said["version"]), address)
        return [line, nodes.literal_block(text, text, language="bibtex")]


def bibtex(title: str, authors: list[str], version: str, address: str) -> str:
    """Returns an entry for BibTeX; names stand in braces of their own, for they are not persons'."""
    fields = {"title": title, "author": " and ".join(f"{{{name}}}" for name in authors), "version": version}
    fields |= {"url": address} if address else {}
    return "@misc{dlperf,\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}"


def setup(app: Sphinx) -> None:
    """Registers the directives."""
    app.add_directive("changes", ChangesDirective)
    app.add_directive("citation", CitationDirective)
