"""Blocks of a page as it is shown: what is one, what it is called, and where it ends."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup
from hypothesis import given, strategies

from booktools.numbering import blocks, number

PAGE = """<section class="tex2jax_ignore" id="tiny">
<h1>Tiny<a class="headerlink" href="#tiny" title="a &gt; b">§</a></h1>
<p>One.<br>Still one.</p>
<hr class="docutils" />
<div class="cell docutils container"><div class="cell_input"><div>x</div></div></div>
<section id="tiny-more">
<h2>More</h2>
<ul class="simple"><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ul>
<div class="exercise admonition" id="ex"><p>Title</p><section><p>Do it.</p></section></div>
<details class="dl-solution" id="solution"><summary><p>Solution</p></summary>
<section><p>So.</p><figure><svg><g></g></svg><figcaption>It.</figcaption></figure></section>
</details>
<details class="hide"><summary>s</summary><p>no block</p></details>
<dl class="glossary"><dt id="term-a">a</dt><dd><p>b</p></dd></dl>
<section id="tiny-last"><h3>Last</h3></section>
</section>
</section>
"""
NAMED = {
    "tiny": ["h1", "p", "hr.docutils", "div.cell.docutils.container"],
    "tiny-more": ["h2", "li", "li", "div.exercise.admonition", "summary", "p", "figure", "details.hide", "dt", "dd"],
    "tiny-last": ["h3"],
}


def test_blocks_are_called_by_their_section_and_their_number_in_it() -> None:
    assert [(block.name, block.kind) for block in blocks(PAGE)] == [
        (f"{section}.{n}", kind) for section, kinds in NAMED.items() for n, kind in enumerate(kinds, 1)
    ]


def test_a_block_ends_where_its_element_does() -> None:
    for block in blocks(PAGE):
        (element,) = BeautifulSoup(PAGE[block.start : block.end], "html.parser").find_all(True, recursive=False)
        assert element.name == block.tag


def test_numbers_stand_in_the_tags_and_nothing_else_changes() -> None:
    numbered = number(PAGE)
    assert re.sub(r' data-block="\d+"', "", numbered) == PAGE
    soup = BeautifulSoup(numbered, "html.parser")
    assert [each["data-block"] for each in soup.select("[data-block]")] == [
        str(n) for kinds in NAMED.values() for n, _ in enumerate(kinds, 1)
    ]
    assert [block.name for block in blocks(numbered)] == [block.name for block in blocks(PAGE)]


def test_what_is_added_to_a_section_renames_nothing_in_others() -> None:
    longer = PAGE.replace("<h2>More</h2>", "<h2>More</h2><p>New.</p>")
    names = lambda page, section: [b.name for b in blocks(page) if b.name.startswith(f"{section}.")]
    for section in ("tiny", "tiny-last"):
        assert names(longer, section) == names(PAGE, section)
    assert len(names(longer, "tiny-more")) == len(names(PAGE, "tiny-more")) + 1


TAGS = strategies.sampled_from(["p", "div", "figure", "table"])
TREES = strategies.recursive(
    TAGS.map(lambda tag: f"<{tag}>x</{tag}>"),
    lambda inner: strategies.builds(
        lambda tag, parts: f"<{tag} title='' class=\"a b\">{''.join(parts)}</{tag}>",
        strategies.sampled_from(["div", "figure"]),
        strategies.lists(inner, max_size=3),
    ),
    max_leaves=8,
)


@given(strategies.lists(TREES, max_size=5))
def test_each_element_of_a_section_is_one_block(elements: list[str]) -> None:
    page = f'<section id="s">{"".join(elements)}</section>'
    assert [page[block.start : block.end] for block in blocks(page)] == elements


def test_an_element_that_is_never_closed_is_named() -> None:
    with pytest.raises(ValueError, match="<div> is never closed: 'lost"):
        blocks('<section id="s"><div class="a">lost</section>')
