"""The file of an EPUB: a zip file of pages, with what lists them, and the same bytes from the same pages."""

from __future__ import annotations

import html
import io
import time
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from booktools.formats.epub.xhtml import page, properties
from booktools.formats.volume import Entry

FOLDER = "EPUB"
CONTAINER = f"""<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="{FOLDER}/package.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
"""
TYPES = {"xhtml": "application/xhtml+xml", "css": "text/css", "svg": "image/svg+xml"}
"""The types of files, by their endings."""


@dataclass(frozen=True)
class Facts:
    """What the book says of itself; ``when`` is the time of its last change, in seconds of UTC."""

    title: str
    author: str
    language: str
    rights: str
    when: int


def pack(
    files: Mapping[str, str], contents: str, entries: Sequence[Entry], places: Mapping[str, str], facts: Facts
) -> bytes:
    """Returns the EPUB of these files, by name; the pages among them are read in this order.

    ``contents`` is the title of the table of contents, which lists ``entries``; ``places`` has the file of each id.
    """
    navigation = page(_navigation(contents, entries, places), contents, facts.language)
    inside = {**files, "nav.xhtml": navigation}
    whole = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        f"{FOLDER}/package.opf": _package(inside, facts),
        **{f"{FOLDER}/{name}": text for name, text in inside.items()},
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        for name, text in whole.items():
            entry = zipfile.ZipInfo(name, time.gmtime(facts.when)[:6])
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            entry.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            packed.writestr(entry, text.encode(), compresslevel=9)
    return data.getvalue()


def _package(files: Mapping[str, str], facts: Facts) -> str:
    """Returns the list of files, and what the book says of itself."""
    number = uuid.uuid5(uuid.NAMESPACE_URL, f"{facts.title} {facts.language}")
    changed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(facts.when))
    items = "".join(_item(name, text) for name, text in files.items())
    order = "".join(f'<itemref idref="{_id(name)}"/>\n' for name in files if name.endswith(".xhtml"))
    title, author, rights = map(html.escape, (facts.title, facts.author, facts.rights))
    return f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="book" xml:lang="{facts.language}">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="book">urn:uuid:{number}</dc:identifier>
<dc:title>{title}</dc:title>
<dc:creator>{author}</dc:creator>
<dc:language>{facts.language}</dc:language>
<dc:rights>{rights}</dc:rights>
<meta property="dcterms:modified">{changed}</meta>
<meta property="schema:accessMode">textual</meta>
<meta property="schema:accessMode">visual</meta>
<meta property="schema:accessibilityFeature">MathML</meta>
<meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityHazard">none</meta>
</metadata>
<manifest>
{items}</manifest>
<spine>
{order}</spine>
</package>
"""


def _item(name: str, text: str) -> str:
    known = {"nav.xhtml": "nav", "cover.svg": "cover-image"}
    said = known.get(name) or (properties(text) if name.endswith(".xhtml") else "")
    kept = f' properties="{said}"' if said else ""
    return f'<item id="{_id(name)}" href="{name}" media-type="{TYPES[name.rpartition(".")[2]]}"{kept}/>\n'


def _id(name: str) -> str:
    return f"file-{name}"


def _navigation(title: str, entries: Sequence[Entry], places: Mapping[str, str]) -> str:
    """Returns the table of contents: headings within headings."""
    lines, depth = [], 0
    for entry in entries:
        lines.append("<ol>" if entry.level > depth else "</li>" + "</ol></li>" * (depth - entry.level))
        lines.append(f'<li><a href="{places[entry.id]}#{entry.id}">{html.escape(entry.text)}</a>')
        depth = entry.level
    lines.append("</li></ol>" * depth)
    return f'<nav epub:type="toc" id="toc"><h1>{html.escape(title)}</h1>{"".join(lines)}</nav>'
