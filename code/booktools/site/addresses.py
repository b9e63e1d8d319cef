"""Write sitemap, `robots.txt` and the 404 page, and link each page to its source.

A map of the site, `robots.txt` and a page for addresses at which there is nothing, where `_config.yml` says where the
site stands; a link to each page's source, where it names a repository; in the foot of a site that is passed on, the
version and commit of which it was built.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from booktools.show.edition import OFFERED, current, labels_of
from booktools.show.render import report_missing
from booktools.site.provenance import citation, commit, edit_address, site_address
from booktools.source.book import Book

NOWHERE, MAP, ROBOTS = "404.html", "sitemap.xml", "robots.txt"
SITEMAP, XHTML = "http://www.sitemaps.org/schemas/sitemap/0.9", "http://www.w3.org/1999/xhtml"


def sitemap(book: Book, base: str) -> bytes:
    """Returns the map of the site at the address ``base``: each page in each language, with its twins."""
    ElementTree.register_namespace("", SITEMAP)
    ElementTree.register_namespace("xhtml", XHTML)
    top = ElementTree.Element(f"{{{SITEMAP}}}urlset")
    for page in book.pages:
        for language in book.languages:
            url = ElementTree.SubElement(top, f"{{{SITEMAP}}}url")
            ElementTree.SubElement(url, f"{{{SITEMAP}}}loc").text = base + book.path_on_site(language, page)
            for twin in book.languages:
                link = {"rel": "alternate", "hreflang": twin.html, "href": base + book.path_on_site(twin, page)}
                ElementTree.SubElement(url, f"{{{XHTML}}}link", link)
    ElementTree.indent(top)
    return bytes(ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)) + b"\n"


def robots(base: str) -> str:
    """Returns what crawlers are told: all may be read, and where the map is."""
    return f"User-agent: *\nAllow: /\nSitemap: {base}{MAP}\n"


def _nowhere(app: Sphinx, book: Book, base: str) -> str:
    """Returns the page for addresses at which there is nothing: one for all languages, since hosts know only one."""
    languages = []
    for language in book.languages:
        paths = {name: base + book.path_on_site(language, name) for name in (str(app.config.root_doc), "search")}
        cover, search = paths.values()
        say = labels_of(book, language).translate
        languages.append({"html": language.html, "say": say, "cover": cover, "search": search})
    return str(app.builder.templates.render(NOWHERE, {"languages": languages}))


def _configure(app: Sphinx, config: Config) -> None:
    book = current().book
    config.booktools_repository = edit_address(book, current().language, str(config.root_doc))
    if os.environ.get(OFFERED):
        config.booktools_state = f"{citation(book)['version']} {commit(book.root)}".rstrip()


def _page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Gives the template what stands in the foot of a page, and which of its addresses counts."""
    book, language = current().book, current().language
    base = site_address(book)
    context["state"] = app.config.booktools_state
    context["canonical"] = base and base + book.path_on_site(language, pagename)
    if doctree is not None:
        context["edit"] = edit_address(book, language, pagename)


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Writes what stands at the root, beside the first language; nothing of it where no address is configured."""
    book = current().book
    if error is not None or app.builder.format != "html" or current().language != book.languages[0]:
        return
    base, root = site_address(book), Path(app.outdir)
    for name in (NOWHERE, MAP, ROBOTS):
        (root / name).unlink(missing_ok=True)
    if base:
        (root / MAP).write_bytes(sitemap(book, base))
        (root / ROBOTS).write_text(robots(base), encoding="utf-8")
        (root / NOWHERE).write_text(_nowhere(app, book, base), encoding="utf-8")
        report_missing(f"code/booktools/site/theme/{NOWHERE}")


def setup(app: Sphinx) -> None:
    """Registers what pages say, each written again when that changes, and what stands at the root."""
    app.add_config_value("booktools_state", "", "html")
    app.add_config_value("booktools_repository", "", "html")
    app.connect("config-inited", _configure, priority=1)
    app.connect("html-page-context", _page, priority=910)
    app.connect("build-finished", _finish, priority=810)  # after pages that the book does not have were removed
