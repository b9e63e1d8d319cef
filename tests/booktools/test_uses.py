"""What a page refers to and from where; that links back lead there is tested in the browser."""

from __future__ import annotations

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import new_document
from sphinx.addnodes import pending_xref

from booktools.uses import Use, uses


def term(name: str) -> pending_xref:
    return pending_xref("", nodes.inline("", name), refdomain="std", reftype="term", reftarget=name)


def section(anchor: str, *children: nodes.Node) -> nodes.section:
    return nodes.section("", nodes.title("", anchor), nodes.paragraph("", "", *children), ids=[anchor])


def page(*sections: nodes.section) -> nodes.document:
    document = new_document("page", get_default_settings(Parser))
    document.extend(sections)
    return document


def test_the_first_use_of_a_term_in_a_section_has_an_anchor() -> None:
    document = page(section("one", term("median"), term("Median"), term("mode")), section("two", term("median")))
    found = uses(document)
    assert [(use.target, use.section, bool(use.anchor)) for use in found] == [
        ("median", "one", True),
        ("median", "one", False),
        ("mode", "one", True),
        ("median", "two", True),
    ]
    anchors = [use.anchor for use in found if use.anchor]
    assert anchors == [each["ids"][0] for each in document.findall(nodes.inline) if each["ids"]]
    assert len(set(anchors)) == 3


def test_a_citation_of_several_is_a_use_of_each() -> None:
    shown = nodes.inline("", "a1999,b2001")
    cited = pending_xref("", shown, refdomain="cite", reftype="p", reftarget="a1999,b2001", ids=["id1"])
    assert uses(page(section("one", cited))) == [
        Use("cite", "a1999", "one", "id1"),
        Use("cite", "b2001", "one", "id1"),
    ]


def test_what_has_no_title_is_no_section() -> None:
    """The text of an exercise stands in one."""
    inner = nodes.section("", nodes.paragraph("", "", term("median")), ids=["exercise-content"])
    outer = section("one")
    outer += inner
    assert [use.section for use in uses(page(outer))] == ["one"]
