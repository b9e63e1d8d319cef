"""Margin notes: beside a line that cites, what it cites, in short; the style sheet shows them where there is room.

They say nothing that the reference does not say, so they are no text of the page: neither read out nor copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from pybtex.richtext import Text
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from booktools.uses import section_of


class Note(nodes.Inline, nodes.Element):
    """A note in the margin: ``label`` as the text has it, and ``words``."""


def short(entry: Any, label: str) -> str:
    """Returns who wrote an entry of the bibliography, unless its label says so, its title and its year, on a line."""
    persons = (" ".join(each.prelast_names + each.last_names) for each in entry.persons.get("author", []))
    names = [str(Text.from_latex(name)) for name in persons]
    by = " and ".join(names) if len(names) < 3 and "others" not in names else f"{names[0]} et al."
    title = str(Text.from_latex(entry.fields.get("title", "")))
    year = f" ({entry.fields['year']})" if "year" in entry.fields else ""
    return ": ".join(filter(None, ["" if label.startswith(by.replace(" ", "")) else by, title])) + year


def _cited(doctree: nodes.document) -> Iterator[tuple[nodes.inline, nodes.reference]]:
    """Yields what a page cites where a note can stand beside it: each once in a section, and nothing in a table."""
    inside = {id(each) for table in doctree.findall(nodes.table) for each in table.findall(nodes.inline)}
    known: set[tuple[str, str]] = set()
    for citation in list(doctree.findall(nodes.inline)):
        if "bibtex-citation" in citation["classes"] and id(citation) not in inside:
            for reference in citation.findall(nodes.reference):
                if (key := (section_of(citation), _anchor(reference))) not in known:
                    known.add(key)
                    yield citation, reference


def _anchor(reference: nodes.reference) -> str:
    """Returns the anchor of what is cited, which may stand on the page itself."""
    return str(reference.get("refid") or reference["refuri"].rpartition("#")[2])


def _add(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Puts a note before each citation."""
    cite = app.env.get_domain("cite")
    cited = {each.citation_id: each for each in cite.citations}  # type: ignore[attr-defined]
    for citation, reference in _cited(doctree):
        if entry := cited.get(_anchor(reference)):
            label = entry.formatted_entry.label
            note = Note(label=label, words=short(entry.entry, label))
            citation.parent.insert(citation.parent.index(citation), note)


def _begin(writer: HTML5Translator, node: Note) -> None:
    shown = {"aria-hidden": "true", "data-label": node["label"], "data-note": node["words"]}
    writer.body.append(writer.starttag(node, "span", "", CLASS="dl-aside", **shown) + "</span>")


def setup(app: Sphinx) -> None:
    """Registers the node, how HTML writes it, and what adds it."""
    app.add_node(Note, html=(_begin, lambda writer, node: None))
    app.connect("doctree-resolved", _add, priority=960)  # after what is taken home
