"""What links to other pages lead to, kept on the page itself: `previews.js` shows it on a card, from a file too.

Each is a template, by the address that links have: what a term means, what a reference is, how a section begins.
"""

from __future__ import annotations

import html
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinxcontrib.bibtex.transforms import node_text_transform

from booktools.edition import current
from booktools.kept import digest
from booktools.look import shortened
from booktools.render import MarkEnglish
from booktools.search import plain, texts, titled
from booktools.uses import Spot, all_uses, entries, renewed, title_of

LETTERS = 200
"""As much as a card shows of a section's text."""


def spots(env: BuildEnvironment, page: str, known: dict[tuple[str, str], Spot]) -> dict[Spot, str]:
    """Returns what a page refers to on other pages, each once, with the kind of the reference."""
    found = {known[key]: use.kind for use in all_uses(env).get(page, []) if (key := (use.kind, use.target)) in known}
    return {spot: kind for spot, kind in found.items() if spot.page != page}


def beginnings(doctree: nodes.document) -> dict[str, str]:
    """Returns the first paragraph of each section of a page that has one, by the section's anchor."""
    found = {}
    for section in doctree.findall(nodes.section):
        paragraph = next((child for child in section if isinstance(child, nodes.paragraph)), None)
        if paragraph is not None and section["ids"]:
            found[section["ids"][0]] = plain(nodes.container("", paragraph.deepcopy()))
    return found


def _beginnings(env: BuildEnvironment) -> dict[str, dict[str, str]]:
    if not hasattr(env, "booktools_beginnings"):
        env.booktools_beginnings = {}  # type: ignore[attr-defined]
    return env.booktools_beginnings  # type: ignore[attr-defined]


def words(env: BuildEnvironment, spot: Spot, kind: str) -> list[str]:
    """Returns what stands at a spot that is no reference: for a term itself and what it means, for a section its page,
    its title and how it begins; of anything else only the page."""
    every = texts(env).get(spot.page, [])
    found = next((each for each in every if spot.anchor in ("", each[1])), None)
    own = title_of(env, spot.page, every[0][1]) if every else ""
    if found is None:
        return [own]
    _, anchor, name, text, _ = found
    if kind == "term":
        return ["", name, text]
    title, text = title_of(env, spot.page, anchor), titled(env, _beginnings(env).get(spot.page, {}).get(anchor, ""))
    return ["" if title == own else own, title, shortened(text, LETTERS)]


def markup(where: str, head: str = "", text: str = "") -> str:
    """Returns such words as HTML: where it stands, its name, and its text."""
    escape = html.escape
    english = MarkEnglish.head(text) if current().catalogue.path else ""
    said = f'<span lang="en">{escape(english)}</span>{escape(text[len(english) :])}' if english else escape(text)
    shown = (("where", escape(where)), ("head", escape(head)), ("text", said))
    return "".join(f'<p class="dl-card-{name}">{each}</p>' for name, each in shown if each)


def _references(env: BuildEnvironment) -> dict[Spot, Any]:
    """Returns the entries of the list of references, by where they stand."""
    cite = env.get_domain("cite")
    return {Spot(each.bibliography_key.docname, each.citation_id): each.formatted_entry for each in cite.citations}  # type: ignore[attr-defined]


def _reference(app: Sphinx, entry: Any) -> str:
    """Returns a reference as HTML, with a link to where it can be read."""
    paragraph = app.env.get_domain("cite").backend.paragraph(entry)  # type: ignore[attr-defined]
    node_text_transform(paragraph)
    return app.builder.render_partial(paragraph)["fragment"].strip()  # type: ignore[attr-defined]


def _context(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Gives the template what the page's links to other pages lead to, as pairs of address and HTML."""
    env, references = app.env, _references(app.env)
    context["previews"] = []
    for spot, kind in ({} if page == app.config.root_doc else spots(env, page, entries(env))).items():
        address = app.builder.get_relative_uri(page, spot.page) + (spot.anchor and f"#{spot.anchor}")
        shown = _reference(app, references[spot]) if spot in references else markup(*words(env, spot, kind))
        context["previews"].append((address, shown))


def _changed(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Returns the pages, to be written again, whose links lead to something else than before."""
    known, references = entries(env), _references(env)

    def said(spot: Spot, kind: str) -> str:
        return repr((spot, references[spot].text if spot in references else words(env, spot, kind)))

    found = {page: spots(env, page, known) for page in env.found_docs}
    now = {page: digest(*(said(*each) for each in there.items())) for page, there in found.items() if there}
    return renewed(env, "booktools_previews", now)


def _read(app: Sphinx, doctree: nodes.document) -> None:
    _beginnings(app.env)[app.env.docname] = beginnings(doctree)


def setup(app: Sphinx) -> None:
    """Registers what gathers the previews and gives them to the template."""
    app.connect("doctree-read", _read, priority=900)
    app.connect("env-purge-doc", lambda app, env, page: _beginnings(env).pop(page, None))
    app.connect("env-updated", _changed, priority=910)  # after that of the list of references
    app.connect("html-page-context", _context, priority=910)
