"""Twins: which blocks have one, what it holds, where its links lead, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from booktools import twins
from booktools.book import Book, BookError, Language
from booktools.edition import html_of
from booktools.numbering import number
from booktools.twins import Article

ENGLISH, CHINESE = Language("en", "en", "en", "English"), Language("zh", "zh_CN", "zh-CN", "中文")


def article(html: str, language: Language = ENGLISH, address: str = "tiny.html") -> Article:
    """Returns a page of one section with this text."""
    return Article(number(f'<section id="s">{html}</section>'), address, language)


def twin(html: str) -> Tag | None:
    """Returns the twin of the only block of a Chinese page, as it stands beside an English one."""
    theirs = article(html, CHINESE, "zh/tiny.html")
    (block,) = theirs.blocks
    made = twins.twin(block, theirs, article(""))
    found = BeautifulSoup(made, "html.parser").find_all(True, recursive=False)
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    "html",
    [
        "<p>话</p>",
        "<h2>题</h2>",
        '<div class="dl-claim docutils container" id="claim-a"><p>话</p></div>',
        '<div class="exercise admonition"><p>话</p></div>',
        '<div class="admonition note"><p>话</p></div>',
        '<table class="docutils align-default"><tr><td>话</td></tr></table>',
        '<div class="dl-table-box docutils container"><table class="docutils"><tr><td>话</td></tr></table></div>',
        '<nav class="dl-tree" aria-label="树"><ul><li>话</li></ul></nav>',
        "<figure><svg></svg><figcaption><p>话</p></figcaption></figure>",
    ],
)
def test_prose_has_a_twin_in_its_language(html: str) -> None:
    found = twin(html)
    assert found is not None
    assert found["lang"] == "zh-CN"
    assert "dl-twin" in found["class"]
    assert found.get_text(strip=True)
    assert not found.select("[id], [data-block], svg")


@pytest.mark.parametrize(
    "html",
    [
        '<div class="cell docutils container"><pre>x</pre></div>',
        '<div class="math notranslate"><math></math></div>',
        '<div class="highlight-python notranslate"><pre>x</pre></div>',
        '<div class="dl-table-box"><table class="dl-table"><tr><td>1</td></tr></table></div>',
        '<div class="dl-table-box dl-machines"><table class="dl-table docutils"><tr><td>1</td></tr></table></div>',
        '<p class="dl-download"><a href="a.gz">a.gz</a></p>',
        "<figure><svg></svg></figure>",
    ],
)
def test_what_is_the_same_in_both_has_none(html: str) -> None:
    assert twin(html) is None


def test_of_a_figure_it_is_the_caption_and_of_a_claim_the_sentence() -> None:
    figure = twin(
        '<figure id="f"><svg></svg><figcaption><p>图<a class="headerlink" href="#f">§</a></p></figcaption></figure>'
    )
    assert figure is not None
    assert (figure.name, figure["class"], figure.get_text()) == ("div", ["dl-twin", "dl-caption"], "图")
    claim = twin('<div class="dl-claim"><p>句</p><ul class="dl-verdicts simple"><li>成立</li></ul></div>')
    assert claim is not None
    assert claim.get_text() == "句"


def test_a_heading_is_said_once_and_a_tree_keeps_its_name() -> None:
    heading, tree = twin("<h2>题</h2>"), twin('<nav aria-label="树" class="dl-tree"><ul></ul></nav>')
    assert heading is not None
    assert tree is not None
    assert heading["role"] == "none"
    assert (tree["aria-label"], tree["class"]) == ("树", ["dl-twin", "dl-tree", "dl-across"])


@pytest.mark.parametrize(
    ("link", "own", "its", "seen"),
    [
        ("https://a.org/b#c", "a.html", "zh/a.html", "https://a.org/b#c"),
        ("mailto:a@b.c", "a.html", "zh/a.html", "mailto:a@b.c"),
        ("#here", "a.html", "zh/a.html", "#here"),
        ("#id3", "a.html", "zh/a.html", "zh/a.html#id3"),
        ("b.html#c", "a.html", "zh/a.html", "zh/b.html#c"),
        ("b.html", "zh/a.html", "a.html", "../b.html"),
        ("#id3", "zh/a.html", "a.html", "../a.html#id3"),
        ("../b.html#c", "part/a.html", "zh/part/a.html", "../zh/b.html#c"),
    ],
)
def test_links_lead_where_they_led(link: str, own: str, its: str, seen: str) -> None:
    theirs, ours = article("", CHINESE, its), article('<p id="here"></p>', ENGLISH, own)
    assert twins.address(link, theirs, ours) == seen


def test_blocks_that_do_not_align_are_named() -> None:
    ours = article("<p>a</p><p>b</p>")
    with pytest.raises(BookError, match=r"^tiny: block s\.2 is shown as p in English and as dt in 中文$"):
        twins.pairs(ours, article("<p>一</p><dl><dt>二</dt></dl>", CHINESE), "tiny")
    with pytest.raises(BookError, match=r"^tiny: is shown in 2 blocks in English and in 1 in 中文$"):
        twins.pairs(ours, article("<p>一</p>", CHINESE), "tiny")
    assert [(a.name, b.name) for a, b in twins.pairs(ours, ours, "tiny")] == [("s.1", "s.1"), ("s.2", "s.2")]


def site(book: Book, chinese: str = "<p>二</p>") -> None:
    """Writes pages of the tiny book as if they had been built."""
    for page in book.pages:
        for language in book.languages:
            path = html_of(book, language, "this") / f"{page}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            said = "<p>two</p>" if language.code == "en" else chinese
            path.write_text(f'<main><article><section id="s">{said}</section></article></main>', encoding="utf-8")


def scripts(book: Book) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (book.build / "work").rglob("*.js")}


def test_each_page_gets_a_script_and_the_same_one_each_time(tiny: Book) -> None:
    site(tiny)
    twins.write(tiny, "this")
    first = scripts(tiny)
    assert len(first) == len(tiny.pages) * len(tiny.languages)
    said = (html_of(tiny, tiny.languages[0], "this") / twins.FOLDER / f"{tiny.pages[0]}.js").read_text(encoding="utf-8")
    found = json.loads(said.removeprefix("window.DL_TWINS=").removesuffix(";\n"))
    assert found == {"s.1": '<p class="dl-twin" lang="zh-CN">二</p>'}
    gone = html_of(tiny, tiny.languages[1], "this") / twins.FOLDER / "gone.js"
    gone.write_text("of a page that the book no longer has")
    twins.write(tiny, "this")
    assert scripts(tiny) == first


def test_a_page_that_does_not_align_is_not_written(tiny: Book) -> None:
    site(tiny, "<p>二</p><p>三</p>")
    with pytest.raises(BookError, match="1 blocks in English and in 2 in 中文"):
        twins.write(tiny, "this")
