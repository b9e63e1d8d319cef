"""{tree}: what it becomes, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import directives
from myst_parser.parsers.docutils_ import Parser

from booktools.checks import branches
from booktools.show.tree import Tree, TreeDirective, depart, visit
from booktools.source.book import Book
from booktools.source.page import page_at
from tests.conftest import ROOT, edit

HEAD = "```{tree} Questions & answers\n"
GOOD = "- [Busy?](#tiny)\n  - [no](#tiny-measure) it waits\n  - [yes](#tiny-measure)\n"


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> Tree:
    """The node of a good tree, read as MyST reads a page."""
    monkeypatch.setitem(directives._directives, "tree", TreeDirective)
    document = publish_doctree(f"(tiny)=\n# A\n\n(tiny-measure)=\n## B\n\n{HEAD}{GOOD}```\n", parser=Parser())
    (found,) = document.findall(Tree)
    return found


def test_a_tree_is_a_nested_list_of_links(tree: Tree) -> None:
    (top,) = tree.children
    assert isinstance(top, nodes.bullet_list)
    (root,) = top.children
    inner = [item.astext() for item in root.findall(nodes.list_item) if item is not root]
    assert inner == ["no it waits", "yes"]
    assert [link.astext() for link in tree.findall(nodes.reference)] == ["Busy?", "no", "yes"]


def test_it_is_a_landmark_with_a_name(tree: Tree) -> None:
    written: list[str] = []

    def starttag(node: nodes.Element, tag: str, **attributes: Any) -> str:
        from docutils.writers.html5_polyglot import HTMLTranslator

        return HTMLTranslator.starttag(writer, node, tag, **attributes)  # type: ignore[arg-type]

    writer: Any = SimpleNamespace(body=written, starttag=starttag, attval=lambda text: text.replace("&", "&amp;"))
    visit(writer, tree)
    depart(writer, tree)
    nav = BeautifulSoup("".join(written), "html.parser").nav
    assert nav is not None
    assert nav["aria-label"] == "Questions & answers"
    assert nav["class"] == ["dl-tree"]


def put(book: Book, text: str) -> Path:
    """Lets the tiny book's page hold a tree of this text; returns the page's file."""
    path = book.page("en", "tiny")
    edit(path, "(tiny-measure)=", f"{HEAD}{text}```\n\n(tiny-measure)=")
    return path


def found(book: Book, text: str) -> list[tuple[int, str]]:
    """Returns what is wrong with such a tree, its lines counted from that of the directive."""
    page = page_at(book, put(book, text))
    start = page.text.splitlines().index(HEAD.strip()) + 1
    return [(line - start, why) for line, why in branches.problems_of(page)]


def test_a_good_tree_is_not_refused(tiny: Book) -> None:
    assert found(tiny, GOOD) == []


def test_the_book_s_trees_are_whole() -> None:
    assert branches.problems(Book(ROOT)) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- Busy?\n  - [no](#tiny)\n", 1),
        ("- [Busy?](#tiny)\n  - no, it waits\n", 2),
        ("- [Busy?](#tiny)\n  - [no](#tiny) or [yes](#tiny)\n", 2),
        ("- [Busy?](#tiny)\n  - [no](tiny.md)\n", 2),
    ],
)
def test_an_item_without_one_link_into_the_page_is_refused(tiny: Book, text: str, line: int) -> None:
    ((where, why),) = found(tiny, text)
    assert where == line
    assert "one link to a section of this page would" in why


@pytest.mark.parametrize("text", ["", "Only words, and [a link](#tiny).\n"])
def test_an_empty_tree_is_refused(tiny: Book, text: str) -> None:
    assert found(tiny, text) == [(0, "this {tree} is empty: it holds a nested list of links")]


def test_a_list_after_the_tree_is_none_of_its_own(tiny: Book) -> None:
    assert found(tiny, f"{GOOD}```\n\n- words\n\n```{{note}}\n- words\n") == []


def test_file_and_line_are_named(tiny: Book) -> None:
    path = put(tiny, "- Busy?\n")
    line = path.read_text(encoding="utf-8").splitlines().index("- Busy?") + 1
    (problem,) = branches.problems(tiny)
    assert problem.startswith(f"chapters/en/tiny.md:{line}: an item of a {{tree}} leads nowhere")
