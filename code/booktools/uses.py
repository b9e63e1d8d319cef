"""Where each term and each reference is used: what pages refer to, and the links back in which an entry ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from docutils import nodes
from sphinx.addnodes import glossary, pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode
from sphinxcontrib.bibtex.citation_target import parse_citation_targets

from booktools.display import sign
from booktools.edition import current
from booktools.kept import digest
from booktools.search import texts

LISTED = ("term", "cite")
"""The kinds of references whose entries list them."""


class Use(NamedTuple):
    """A reference on a page: of which kind, to what, the anchor of the section in which it stands, and its own."""

    kind: str
    target: str
    section: str
    anchor: str


class Spot(NamedTuple):
    """A place that a link leads to: page and anchor; without one the page itself."""

    page: str
    anchor: str


def uses(doctree: nodes.document) -> list[Use]:
    """Returns the references of a page in their order; one to a term gets an anchor if it is the section's first.

    The anchor is that of the words: a link that is a target itself would take the focus.
    """
    found: list[Use] = []
    known: set[Use] = set()
    for node in doctree.findall(pending_xref):
        section = section_of(node)
        for kind, target in _targets(node):
            bare = Use(kind, target, section, "")
            anchored = next(node.findall(nodes.inline)) if kind == "term" else node
            if kind == "term" and bare not in known:
                doctree.set_id(anchored)
            known.add(bare)
            found.append(bare._replace(anchor=next(iter(anchored["ids"]), "")))
    return found


def _targets(node: pending_xref) -> list[tuple[str, str]]:
    if node["refdomain"] == "cite":
        return [("cite", target.key) for target in parse_citation_targets(node["reftarget"])]
    return [(node["reftype"], node["reftarget"].lower() if node["reftype"] == "term" else node["reftarget"])]


def section_of(node: nodes.Node) -> str:
    """Returns the anchor of the section in which a node stands; one without a title is part of an exercise."""
    while (node := node.parent) is not None:
        if isinstance(node, nodes.section) and isinstance(node[0], nodes.title):
            return str(node["ids"][0])
    return ""


def all_uses(env: BuildEnvironment) -> dict[str, list[Use]]:
    """Returns the references of each page, as far as it has been read."""
    if not hasattr(env, "booktools_uses"):
        env.booktools_uses = {}  # type: ignore[attr-defined]
    return env.booktools_uses  # type: ignore[attr-defined]


def entries(env: BuildEnvironment) -> dict[tuple[str, str], Spot]:
    """Returns where everything stands that pages refer to, by kind and target."""
    std, cite = env.get_domain("std"), env.get_domain("cite")
    found = {("cite", each.key): Spot(each.bibliography_key.docname, each.citation_id) for each in cite.citations}  # type: ignore[attr-defined]
    for (kind, name), place in std.objects.items():  # type: ignore[attr-defined]
        found[kind, name.lower()] = Spot(*place)
    for name, place in std.anonlabels.items():  # type: ignore[attr-defined]
        found["ref", name] = found["numref", name] = Spot(*place)
    return found | {(kind, page): Spot(page, "") for kind in ("doc", "myst") for page in env.found_docs}


def used(env: BuildEnvironment) -> dict[Spot, dict[tuple[str, str], str]]:
    """Returns the sections, by page and anchor, in which each entry is used, with the anchor of its first use there."""
    known, found = entries(env), dict[Spot, dict[tuple[str, str], str]]()
    for page in current().book.pages:
        for use in all_uses(env).get(page, []):
            entry = known.get((use.kind, use.target))
            if use.kind in LISTED and entry and entry.page != page:
                found.setdefault(entry, {}).setdefault((page, use.section), use.anchor)
    return found


def title_of(env: BuildEnvironment, page: str, section: str) -> str:
    """Returns the title of a section, behind its number if it has one."""
    titles = {anchor: title for _, anchor, title, *_ in texts(env).get(page, [])}
    numbers = env.toc_secnumbers.get(page, {})
    number = numbers.get(f"#{section}") or numbers.get("")
    return " ".join([*([".".join(map(str, number))] if number else []), titles.get(section, "")])


def name_of(env: BuildEnvironment, page: str, section: str) -> str:
    """Returns what a link to a section says: number and title; where pages have no number, the page's title too."""
    title, own = title_of(env, page, section), env.titles[page].astext()
    return title if title == own or page in env.toc_secnumbers else title + sign("(@)").replace("@", own)


def _line(app: Sphinx, page: str, found: dict[tuple[str, str], str]) -> nodes.paragraph:
    """Returns the links back from an entry on a page."""
    line = nodes.paragraph("", current().catalogue.translate("Used in") + sign(":"), classes=["dl-uses"])
    for number, ((there, section), anchor) in enumerate(found.items()):
        name = nodes.Text(name_of(app.env, there, section))
        line += [nodes.Text(" · ")] * (number > 0) + [make_refnode(app.builder, page, there, anchor, name)]
    return line


def _entries_of(doctree: nodes.document) -> Iterator[tuple[str, nodes.Element]]:
    """Yields the entries of a page, by their anchors: what is explained of a term, and references."""
    for words in doctree.findall(glossary):
        for item in words.findall(nodes.definition_list_item):
            explained = next(item.findall(nodes.definition))
            yield from ((term["ids"][0], explained) for term in item.findall(nodes.term) if term["ids"])
    yield from ((citation["ids"][0], citation) for citation in doctree.findall(nodes.citation))


def _add(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Ends each entry of a page in links back."""
    listed = list(_entries_of(doctree))
    found = used(app.env) if listed else {}
    for anchor, entry in listed:
        if places := found.get(Spot(page, anchor)):
            entry += _line(app, page, places)


def _read(app: Sphinx, doctree: nodes.document) -> None:
    all_uses(app.env)[app.env.docname] = uses(doctree)


def _changed(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Returns the pages, to be written again, whose entries are used elsewhere than before."""
    said: dict[str, list[str]] = {}
    for entry, places in used(env).items():
        line = [(place, anchor, name_of(env, *place)) for place, anchor in places.items()]
        said.setdefault(entry.page, []).append(repr((entry, line)))
    return renewed(env, "booktools_used", {page: digest(*lines) for page, lines in said.items()})


def renewed(env: BuildEnvironment, name: str, now: dict[str, str]) -> list[str]:
    """Keeps a mark of each page under a name; returns the pages whose mark is not the one that was kept before."""
    before = getattr(env, name, now)
    setattr(env, name, now)
    return sorted(page for page in env.found_docs if before.get(page) != now.get(page))


def setup(app: Sphinx) -> None:
    """Registers what gathers the references and what adds the links back."""
    app.connect("doctree-read", _read, priority=900)
    app.connect("env-purge-doc", lambda app, env, page: all_uses(env).pop(page, None))
    app.connect("env-updated", _changed, priority=910)  # after that of the list of references
    app.connect("doctree-resolved", _add)
