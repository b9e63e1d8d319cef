"""{citation}: how to cite the book, in words and for BibTeX, from `CITATION.cff`."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from booktools.show.edition import current
from booktools.show.render import report_missing
from booktools.site.provenance import CITATION, citation, site_address


class CitationDirective(SphinxDirective):
    """``{citation}``: authors, title, version, and the address where one is configured; then an entry for BibTeX."""

    def run(self) -> list[nodes.Node]:
        book, say = current().book, current().catalogue.translate
        for name in (CITATION, "_config.yml"):
            self.env.note_dependency(str(book.root / name))
        said, address = citation(book), site_address(book)
        title, version = str(said["title"]), str(said["version"])
        authors = [str(author["name"]) for author in said["authors"]]
        words = say("{authors}. {title}. Version {version}.").format(
            authors=", ".join(map(say, authors)), title=say(title), version=version
        )
        line = nodes.paragraph("", words)
        if address:
            line += [nodes.Text(" "), nodes.reference("", address, refuri=address)]
        report_missing(self.get_location())
        entry = bibtex(title, authors, version, address)
        return [line, nodes.literal_block(entry, entry, language="bibtex")]


def bibtex(title: str, authors: list[str], version: str, address: str) -> str:
    """Returns an entry for BibTeX; names stand in braces of their own, for they are not persons'."""
    fields = {"title": title, "author": " and ".join(f"{{{name}}}" for name in authors), "version": version}
    fields |= {"url": address} if address else {}
    return "@misc{dlperf,\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}"


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_directive("citation", CitationDirective)
