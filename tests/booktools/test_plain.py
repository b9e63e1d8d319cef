"""A page in plain Markdown: markdown-it, which Jupyter's own kind follows, reads back what was meant."""

from __future__ import annotations

import pytest
from docutils import nodes
from markdown_it import MarkdownIt
from myst_nb.core.render import NbElementRenderer  # noqa: F401  registers what pages hold

from booktools.plain import Markdown
from booktools.take_home import whole

NUMBERS = {"figure": {"line": (1, 2)}, "displaymath": {"sum": (1, 3)}}
PLAIN = Markdown("", NUMBERS, "Figure %s")
SITED = Markdown("https://example.org/book/page.html", NUMBERS, "Figure %s")


def shown(*content: nodes.Node, markdown: Markdown = PLAIN) -> str:
    """Returns the HTML that Jupyter makes of blocks."""
    parts = [part for each in content for part in markdown.parts(each)]
    return MarkdownIt("commonmark", {"html": True}).enable("table").render("\n\n".join(map(str, parts)))


def paragraph(*content: nodes.Node | str) -> nodes.paragraph:
    return nodes.paragraph("", "", *(nodes.Text(each) if isinstance(each, str) else each for each in content))


@pytest.mark.parametrize(
    "text", ["a*b*c", "x_i_j", "[a](b)", "`q`", "1 < 2", "C:\\dir", "# 5", "3. x", "- x", "5 $ or 6 $"]
)
def test_text_comes_back_as_it_was(text: str) -> None:
    html = shown(paragraph(text))
    assert html.startswith("<p>"), html
    said = html.removeprefix("<p>").removesuffix("</p>\n").replace("&lt;", "<").replace("&gt;", ">")
    assert said.replace("\\$", "$") == text


def test_emphasis_opens_behind_a_han_character() -> None:
    assert shown(paragraph("先", nodes.emphasis("", "预热"), "（warm-up）")) == "<p>先<em>预热</em>（warm-up）</p>\n"


def test_formulas_stay_tex() -> None:
    assert PLAIN.phrase(nodes.math("", r"a_i * b")) == r"$a_i * b$"
    assert PLAIN.block(nodes.math_block("", "x = 1", ids=["sum"])) == "$$\nx = 1 \\tag{1.3}\n$$"
    assert PLAIN.block(nodes.math_block("", "x = 1")) == "$$\nx = 1\n$$"


@pytest.mark.parametrize(("markdown", "leads"), [(PLAIN, False), (SITED, True)])
def test_a_reference_leads_to_the_site_where_that_is_known(markdown: Markdown, leads: bool) -> None:
    inner = nodes.reference("", "there", refuri="other.html#part")
    assert ('href="https://example.org/book/other.html#part"' in shown(paragraph(inner), markdown=markdown)) == leads
    outer = nodes.reference("", "away", refuri="https://example.com/")
    assert 'href="https://example.com/"' in shown(paragraph(outer), markdown=markdown)


def test_a_table_keeps_a_bar_in_a_cell() -> None:
    rows = [nodes.row("", *(nodes.entry("", paragraph(text)) for text in row)) for row in (("a", "b"), ("c|d", "e"))]
    group = nodes.tgroup("", nodes.thead("", rows[0]), nodes.tbody("", rows[1]), cols=2)
    html = shown(nodes.table("", group))
    assert "<td>c|d</td>" in html
    assert html.count("<td>") == 2


def test_lists_and_their_lists() -> None:
    inner = nodes.bullet_list("", nodes.list_item("", paragraph("inner")))
    html = shown(nodes.enumerated_list("", nodes.list_item("", paragraph("outer"), inner), start=3))
    assert '<ol start="3">' in html
    assert html.index("<ul>") < html.index("inner") < html.index("</ol>")


def test_a_cell_in_a_section_parts_the_text() -> None:
    cell = nodes.container("", cell_index=4)
    section = nodes.section("", nodes.title("", "Title"), paragraph("before"), cell, paragraph("after"))
    assert list(PLAIN.parts(section)) == ["# Title", "before", 4, "after"]


def test_pictures_stay_on_the_site_and_captions_do_not() -> None:
    figure = nodes.figure("", nodes.raw("", "<svg/>", format="html"), nodes.caption("", "A line."), ids=["line"])
    assert shown(figure) == "<p><em>Figure 1.2 A line.</em></p>\n"


def test_cells_that_a_page_does_not_show_are_there_all_the_same() -> None:
    kinds = [type("Cell", (), {"cell_type": kind}) for kind in ("markdown", "code", "markdown", "code", "code")]
    assert list(whole(["text", 3], kinds)) == ["text", 1, 3, 4]
