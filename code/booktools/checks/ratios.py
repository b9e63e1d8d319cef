"""Check that no ratio of medians is formed by hand, which would lose the spread of its two sides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from booktools.source.book import Book
from booktools.source.page import pages_with_cells, source

REMEDY = (
    "divide the measurements, `a / b` where they were taken in turn, `m / number`, `number / m`; "
    "or `over(a, b)` of dlperf.ratio, which remembers both sides"
)


def problems(book: Book) -> list[str]:
    """Returns every division of or by a median in a cell, as messages that begin with file and line."""
    found = []
    for page in pages_with_cells(book):
        this = source(book, page)
        for cell, tree in zip(this.cells, this.trees(book), strict=True):
            found += [
                f"{book.relative(this.path)}:{cell.line + line - 1}: `{text}` loses its spread: {REMEDY}"
                for line, text in divisions(tree)
            ]
    return found


def divisions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of each division of or by a median, but for a scale such as ``m.median / 1e6``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            scale = _is_constant(node.left) or _is_constant(node.right)
            sides = (node.right,) if _is_constant(node.left) else () if scale else (node.left, node.right)
            if any(_is_median(side) for side in sides):
                yield node.lineno, ast.unparse(node)


def _is_median(node: ast.expr) -> bool:
    """Returns whether a value is a median, or made of one by arithmetic."""
    if isinstance(node, ast.BinOp):
        return _is_median(node.left) or _is_median(node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_median(node.operand)
    return isinstance(node, ast.Attribute) and node.attr == "median"


def _is_constant(node: ast.expr) -> bool:
    """Returns whether a value is made of literal numbers alone, as ``2**20`` is."""
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    return isinstance(node, ast.Constant)
