"""Write an Atom feed of each language: what is new in the book, and every machine that was recorded.

It is written only where `_config.yml` says where the site stands, since a feed is read from elsewhere.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx

from booktools.executions.records import HERE
from booktools.show.display import Recording
from booktools.show.edition import current
from booktools.show.render import report_missing
from booktools.site.provenance import site_address

ATOM, FILE, PAGE, MACHINES = "http://www.w3.org/2005/Atom", "feed.xml", "changes", "machines"
DATED = re.compile(rf"{PAGE}-(\d{{4}}-\d\d-\d\d)")
"""The label of a section of the page of changes: its date is when that change came into the book."""
XML = "{http://www.w3.org/XML/1998/namespace}"
NEVER = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Entry:
    """One thing that is new.

    ``identity`` tells it from all others and never changes; ``date`` is in ISO 8601 with a time; ``address`` tells
    more; ``text`` has one line a point.
    """

    identity: str
    title: str
    date: str
    address: str
    text: str


def changes_told(doctree: nodes.document, address: str) -> Iterator[Entry]:
    """Yields an entry for each dated section of the page of changes, which is at ``address``."""
    for section in doctree.findall(nodes.section):
        for label in section["names"] + section["ids"]:
            if dated := DATED.fullmatch(label):
                title = next(section.findall(nodes.title)).astext()
                points = [item.astext() for item in section.findall(nodes.list_item)]
                yield Entry(label, title, f"{dated[1]}T00:00:00Z", f"{address}#{label}", "\n".join(points))
                break


class Machines(Recording):
    """The recorded machines, as a feed tells of them."""

    def told(self, address: str) -> Iterator[Entry]:
        """Yields an entry for each recorded machine, as of its last record; ``address`` is that of their page."""
        for machine in self.machines:
            date = str(machine.environment.get("date", ""))
            if machine.name != HERE and date:
                title = self.say("Machine recorded: {name}").format(name=machine.name)
                words = "".join(node.astext() for node in self.machine_words(machine))
                yield Entry(f"machine {machine.name}", title, date, f"{address}#machines-list", words)


def feed(language: str, title: str, author: str, address: str, entries: list[Entry]) -> bytes:
    """Returns an Atom feed (RFC 4287) at ``address``, the newest entry first; it changes only where its entries do."""
    ElementTree.register_namespace("", ATOM)
    top = ElementTree.Element(f"{{{ATOM}}}feed", {f"{XML}lang": language})
    newest_first = sorted(entries, key=lambda entry: (entry.date, entry.identity), reverse=True)
    _add(top, "id", uuid.uuid5(uuid.NAMESPACE_URL, address).urn)
    _add(top, "title", title)
    _add(top, "updated", newest_first[0].date if newest_first else NEVER)
    _add(_add(top, "author"), "name", author)
    _add(top, "link", rel="self", href=address)
    for entry in newest_first:
        element = _add(top, "entry")
        _add(element, "id", uuid.uuid5(uuid.NAMESPACE_URL, f"{address} {entry.identity}").urn)
        _add(element, "title", entry.title)
        _add(element, "updated", entry.date)
        _add(element, "link", rel="alternate", href=entry.address)
        _add(element, "content", entry.text, type="text")
    ElementTree.indent(top)
    return bytes(ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)) + b"\n"


def _add(parent: ElementTree.Element, name: str, text: str = "", **attributes: str) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, f"{{{ATOM}}}{name}", attributes)
    child.text = text or None
    return child


def _page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Gives the template the feed's address, relative to the page."""
    if site_address(current().book):
        context["feed"] = context["pathto"](FILE, 1)


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Writes the feed beside the pages of its language; none where no address is configured."""
    if error is not None or app.builder.format != "html":
        return
    book, language = current().book, current().language
    base, path = site_address(book), Path(app.outdir) / FILE
    path.unlink(missing_ok=True)
    if not base:
        return

    def address(page: str) -> str:
        return base + book.path_on_site(language, page)

    entries = list(Machines().told(address(MACHINES)))
    if PAGE in app.env.found_docs:
        doctree = app.env.get_and_resolve_doctree(PAGE, app.builder)
        entries += changes_told(doctree, address(PAGE))
    report_missing("code/booktools/site/feed.py")
    here = base + book.path_on_site(language, str(app.config.root_doc)).rpartition("index.html")[0] + FILE
    path.write_bytes(feed(language.html, str(app.config.project), str(app.config.author), here, entries))


def setup(app: Sphinx) -> None:
    """Registers what writes the feed, and what tells the pages where it is."""
    app.connect("html-page-context", _page, priority=910)
    app.connect("build-finished", _finish, priority=790)  # before missing words are reported
