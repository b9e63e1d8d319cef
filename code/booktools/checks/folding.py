"""Check that visible cells do not record, plot or fill tables: such cells are folded.

A visible cell shows what one would type to learn the thing. It may end in a value, which the page
shows below it. `record`, the functions of `dlperf.plot`, Matplotlib, and whatever was made with
them stand in cells with ``:tags: [hide-input]``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import partial

from booktools.source.book import Book
from booktools.source.cache import cached, digest
from booktools.source.page import Page, pages_with_cells, source

RECORD = "dlperf.records.record"
DRAWING = ("dlperf.plot", "matplotlib")
"""Modules whose functions fill the book's tables and figures."""
REMEDY = "a visible cell only teaches; move this line into a folded cell of its own: :tags: [hide-input]"


def problems(book: Book) -> list[str]:
    """Returns each line of a visible cell that records or draws.

    Cells are the same in every language, so the first one's pages are named.
    """
    found = []
    for name in pages_with_cells(book):
        page = source(book, name)
        found += cached(book.cache, f"folding-{page.name}", digest(page.text), partial(_problems, book, page))
    return found


def _problems(book: Book, page: Page) -> list[str]:
    where, lines = book.relative(page.path), page.text.splitlines()
    return [f"{where}:{n}: this {what}: {lines[n - 1].strip()}\n    {REMEDY}" for n, what in book_keeping(book, page)]


def book_keeping(book: Book, page: Page) -> list[tuple[int, str]]:
    """Returns the lines of visible cells that record or draw, counted from 1, each with what it does there."""
    found: dict[int, str] = {}
    names = _Names()
    for cell, tree in zip(page.cells, page.trees(book), strict=True):
        for statement in tree.body:
            for node, what in names.read(statement):
                if cell.is_visible:
                    found.setdefault(cell.line + node.lineno - 1, what)
    return sorted(found.items())


class _Names:
    """What a page's names stand for, as far as its cells have been read."""

    def __init__(self) -> None:
        self.means: dict[str, str] = {}

    def read(self, node: ast.AST) -> Iterator[tuple[ast.Name, str]]:
        """Yields the names by which ``node`` records or draws, and remembers those that it binds."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in self.means:
            yield node, self.means[node.id]
        elif isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            own = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)} | _bound(node)
            yield from (found for found in self._read(ast.iter_child_nodes(node)) if found[0].id not in own)
        elif isinstance(node, ast.For):
            yield from self.read(node.iter)
            self._bind(_bound(node.target), node.iter)
            yield from self._read([*node.body, *node.orelse])
        else:
            found = list(self._read(ast.iter_child_nodes(node)))
            yield from found
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self._bind({name for target in targets for name in _bound(target)}, node.value)
            elif isinstance(node, ast.FunctionDef):
                self.means.pop(node.name, None)
                if found:
                    self.means[node.name] = found[0][1]

    def _read(self, nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.Name, str]]:
        for node in nodes:
            yield from self.read(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            whole = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            name = alias.asname or alias.name.partition(".")[0]
            self.means.pop(name, None)
            if whole == RECORD:
                self.means[name] = "records"
            elif any(f"{whole}.".startswith(f"{module}.") for module in DRAWING):
                self.means[name] = "draws or fills a table"

    def _bind(self, names: Iterable[str], value: ast.AST) -> None:
        """Lets names stand for what ``value`` is part of, or is called by: what a figure gives is drawn on too."""
        while isinstance(value, ast.Call | ast.Attribute | ast.Subscript):
            value = value.func if isinstance(value, ast.Call) else value.value
        what = self.means.get(value.id) if isinstance(value, ast.Name) else None
        for name in names:
            self.means.pop(name, None)
            if what:
                self.means[name] = what


def _bound(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
