"""What search engines and lost readers are given: addresses, a map of the site, robots.txt, a page for 404."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx

from booktools.book import Book, Language
from booktools.edition import current
from booktools.provenance import site_address

NOWHERE = "404"
"""The page that a host shows for an address at which there is nothing."""
UNLISTED = ("search", NOWHERE)
"""Pages that no search engine should list."""
IMAGE = "_static/card.png"
"""What a link to the book shows where links are shared; `card` draws it."""
SITEMAP, XHTML = "http://www.sitemaps.org/schemas/sitemap/0.9", "http://www.w3.org/1999/xhtml"


def path_of(book: Book, language: Language, page: str) -> str:
    """Returns where a page stands on the site, as its readers write it: the cover by its folder."""
    folder = "" if language == book.languages[0] else f"{language.code}/"
    return folder if page == "index" else f"{folder}{page}.html"


def sitemap(book: Book, base: str) -> bytes:
    """Returns the map of the site: each page in each language, with its addresses in all of them."""
    ElementTree.register_namespace("", SITEMAP)
    ElementTree.register_namespace("xhtml", XHTML)
    top = ElementTree.Element(f"{{{SITEMAP}}}urlset")
    for page in book.pages:
        for language in book.languages:
            url = ElementTree.SubElement(top, f"{{{SITEMAP}}}url")
            ElementTree.SubElement(url, f"{{{SITEMAP}}}loc").text = base + path_of(book, language, page)
            for other in book.languages:
                link = {"rel": "alternate", "hreflang": other.html, "href": base + path_of(book, other, page)}
                ElementTree.SubElement(url, f"{{{XHTML}}}link", link)
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="utf-8", xml_declaration=True) + b"\n"


def robots(base: str) -> str:
    """Returns what crawlers are told: all may be read, and where the map is."""
    return "User-agent: *\nAllow: /\n" + (f"Sitemap: {base}sitemap.xml\n" if base else "")


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yields the page for addresses at which there is nothing."""
    yield NOWHERE, {"title": current().catalogue.translate("Page not found")}, f"{NOWHERE}.html"


def _context(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Gives the template what the head of a page says to machines."""
    book, language = current().book, current().language
    base = site_address(book)
    context["site_address"] = base
    context["is_listed"] = page not in UNLISTED
    context["canonical"] = base + path_of(book, language, page) if base and page not in UNLISTED else ""
    context["card"] = base + IMAGE if base else ""
    context["below"] = path_of(book, language, "index")


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Writes the map and robots.txt at the root, with the first language."""
    book = current().book
    if error is not None or app.builder.format != "html" or current().language != book.languages[0]:
        return
    base, root = site_address(book), Path(app.outdir)
    (root / "robots.txt").write_text(robots(base), encoding="utf-8")
    if base:
        (root / "sitemap.xml").write_bytes(sitemap(book, base))
    else:
        (root / "sitemap.xml").unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    """Registers the page, what heads say, and what stands at the root."""
    app.connect("html-collect-pages", _pages)
    app.connect("html-page-context", _context, priority=910)
    app.connect("build-finished", _finish, priority=800)
