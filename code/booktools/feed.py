"""An Atom feed in each language: every version of the book, and every machine that was recorded."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx

from booktools.addresses import path_of
from booktools.changes import changelog
from booktools.display import Recording
from booktools.edition import current
from booktools.provenance import committed, site_address
from booktools.records import HERE
from booktools.render import report_missing

ATOM = "http://www.w3.org/2005/Atom"
FILE = "feed.xml"
NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "dlperf")
"""Under which ids are made: the same in every build, wherever the site stands."""


@dataclass(frozen=True)
class Entry:
    """One thing that is new: ``page`` tells more, ``date`` is in ISO 8601 with a time."""

    identity: str
    title: str
    date: str
    page: str
    lines: tuple[str, ...] = ()


class Entries(Recording):
    """What the feed of a language tells."""

    def all(self) -> list[Entry]:
        """Returns every entry, the latest first; what is not released yet is as new as the build's commit."""
        found = [*self.machines_told(), *self.versions_told()]
        return sorted(found, key=lambda entry: (entry.date, entry.identity), reverse=True)

    def machines_told(self) -> Iterator[Entry]:
        """Yields every recorded machine, when it was last recorded."""
        for machine in self.machines:
            date = str(machine.environment.get("date", ""))
            if machine.name != HERE and date:
                words = "".join(node.astext() for node in self.machine_words(machine))
                title = self.say("Machine recorded: {name}").format(name=machine.name)
                yield Entry(f"machine {machine.name}", title, date, "machines", (words,))

    def versions_told(self) -> Iterator[Entry]:
        """Yields every version with what it changed."""
        book, language = current().book, current().language
        recorded = max((str(each.environment.get("date", "")) for each in self.machines), default="")
        for version in changelog(book, language):
            date = f"{version.date}T00:00:00Z" if version.date else committed(book) or recorded
            title = self.say("Version @").replace("@", version.name)
            yield Entry(f"version {version.name}", title, date or "1970-01-01T00:00:00Z", "changes", version.points)


@dataclass(frozen=True)
class Place:
    """Where a feed stands: its language, the site's address or none, and where its own and the pages' paths lead."""

    html: str
    base: str
    here: str
    paths: dict[str, str]

    def link(self, page: str) -> str:
        """Returns where a page is; without an address relative to the feed, for whoever has the site as files."""
        return self.base + self.paths[page] if self.base else f"{page}.html"


def feed(title: str, author: str, place: Place, entries: list[Entry]) -> bytes:
    """Returns the feed; an entry whose page the book does not have links to none."""
    ElementTree.register_namespace("", ATOM)
    top = ElementTree.Element(_tag("feed"), {"{http://www.w3.org/XML/1998/namespace}lang": place.html})
    _add(top, "id", f"urn:uuid:{uuid.uuid5(NAMES, place.html)}")
    _add(top, "title", title)
    _add(top, "updated", max((entry.date for entry in entries), default="1970-01-01T00:00:00Z"))
    _add(_add(top, "author"), "name", author)
    _add(top, "link", rel="self", href=place.base + place.here if place.base else FILE)
    for entry in entries:
        element = _add(top, "entry")
        _add(element, "id", f"urn:uuid:{uuid.uuid5(NAMES, f'{place.html} {entry.identity}')}")
        _add(element, "title", entry.title)
        _add(element, "updated", entry.date)
        if entry.page in place.paths:
            _add(element, "link", rel="alternate", href=place.link(entry.page))
        _add(element, "content", "\n".join(entry.lines), type="text")
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="utf-8", xml_declaration=True) + b"\n"


def _tag(name: str) -> str:
    return f"{{{ATOM}}}{name}"


def _add(parent: Any, name: str, text: str = "", **attributes: str) -> Any:
    child = ElementTree.SubElement(parent, _tag(name), attributes)
    child.text = text or None
    return child


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Writes the feed beside the pages of its language."""
    if error is not None or app.builder.format != "html":
        return
    book, language = current().book, current().language
    paths = {page: path_of(book, language, page) for page in book.pages}
    place = Place(language.html, site_address(book), path_of(book, language, "index") + FILE, paths)
    told = feed(app.config.project, app.config.author, place, Entries().all())
    report_missing("code/booktools/feed.py")
    (Path(app.outdir) / FILE).write_bytes(told)


def _context(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    context["feed"] = FILE


def setup(app: Sphinx) -> None:
    """Registers what writes the feed, and tells the pages where it is."""
    app.connect("html-page-context", _context, priority=910)
    app.connect("build-finished", _finish, priority=790)  # before missing words are reported
