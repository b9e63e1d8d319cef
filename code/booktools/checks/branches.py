"""Check that every item of a {tree} leads to a section of its page."""

from __future__ import annotations

from collections.abc import Iterator

from booktools.source.blocks import LINK
from booktools.source.book import Book
from booktools.source.page import Page, found_on_pages

REMEDY = "leads nowhere; one link to a section of this page would: [data](#page-data) the next batch is late"


def problems(book: Book) -> list[str]:
    """Returns each tree without items, and each item without a link of its own, as messages with file and line."""
    return [f"chapters/{problem}" for problem in found_on_pages(book, "branches", _problems)]


def _problems(page: Page) -> list[str]:
    return [f"{page.name}.md:{line}: {why}" for line, why in problems_of(page)]


def problems_of(page: Page) -> Iterator[tuple[int, str]]:
    """Yields what is wrong with each tree of a page: the line, and what would be right."""
    for tree in page.blocks:
        if tree.kind == "{tree}":
            inside = [block for block in page.blocks if tree.line < block.line < page.end(tree.line)]
            yield from _wrong(tree.line, inside)


def _wrong(line: int, inside: list) -> Iterator[tuple[int, str]]:
    items = [block for block in inside if block.kind == "list item"]
    if not items:
        yield line, "this {tree} is empty: it holds a nested list of links"
    texts = {block.line: block.text for block in inside if block.kind == "item paragraph"}
    for item in items:
        text = texts.get(item.line, "")
        links = LINK.findall(text)
        if len(links) != 1 or not links[0].startswith("#"):
            yield item.line, f"an item of a {{tree}} {REMEDY}\n    {text}"
