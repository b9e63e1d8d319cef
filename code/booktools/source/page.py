"""Read and parse a page's source, once for as long as it stays the same."""

from __future__ import annotations

import ast
import functools
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from booktools.source.blocks import Block, blocks, syntax
from booktools.source.book import Book, BookError, Language
from booktools.source.cache import cached, digest

if TYPE_CHECKING:  # What is kept of a page needs neither to be loaded.
    from nbformat import NotebookNode


FOLDED = frozenset({"hide-input", "hide-cell", "remove-input", "remove-cell"})
"""Tags of a cell whose source a page folds away or leaves out."""

_PARSING = threading.RLock()
"""Until Python 3.12 the depth of a tree is counted for all threads at once: a second parse during one breaks it.

One thread hands over to another in the middle of a parse only if the garbage collector runs a finalizer there.
"""


@dataclass(frozen=True)
class Cell:
    """A code cell: its source, its options, and the line, counted from 1, at which the source begins."""

    source: str
    options: Mapping[str, Any]
    line: int

    @property
    def is_visible(self) -> bool:
        """Whether the page shows the source without being asked to."""
        return FOLDED.isdisjoint(self.options.get("tags", ()))


@dataclass(frozen=True)
class Page:
    """A page in one language, as what different readers need of it; ``name`` is such as ``en/measuring``."""

    path: Path
    name: str
    text: str
    cells: tuple[Cell, ...]
    blocks: tuple[Block, ...]

    @functools.cached_property
    def excused(self) -> dict[int, set[str]]:
        """By the line of the block that follows, the words that are not terms there."""
        found = self.remarks("not a term")
        return {line: {word.strip() for text in texts for word in text.split(",")} for line, texts in found.items()}

    def remarks(self, name: str) -> dict[int, list[str]]:
        """Returns what comments ``% name: …`` say, by the line of the block that follows them."""
        found: dict[int, list[str]] = {}
        waiting: list[str] = []
        for number, line in enumerate(self.text.splitlines(), 1):
            if match := re.match(rf"%\s*{name}:\s*(.*)", line):
                waiting.append(match[1].strip())
            elif line.strip() and not line.startswith("%"):
                if waiting:
                    found[number] = waiting
                waiting = []
        return found

    def end(self, line: int) -> int:
        """Returns the last line of what begins at ``line``: of the directive that opens there, or of the paragraph."""
        lines = self.text.splitlines()
        fence = re.match(r"\s*(`{3,}|:{3,})", lines[line - 1])
        is_end = (lambda text: text.strip() == fence[1]) if fence else (lambda text: not text.strip())
        return next((number for number in range(line + 1, len(lines) + 1) if is_end(lines[number - 1])), len(lines))

    def trees(self, book: Book) -> list[ast.Module]:
        """Returns each cell as Python, without IPython's magic lines; BookError names the line that is none."""
        found = []
        for cell in self.cells:
            try:
                found.append(parse(cell.source))
            except SyntaxError as error:
                line = cell.line + (error.lineno or 1) - 1
                raise BookError(f"{book.relative(self.path)}:{line}: this cell is not Python: {error.msg}") from None
        return found

    def notebook(self) -> NotebookNode:
        """Returns the page as a notebook without outputs, a new one each time."""
        return as_notebook(self.text, self.path)


def parse(source: str) -> ast.Module:
    """Returns Python source as a tree; IPython's magic lines are passed over."""
    lines = (line if not re.match(r"\s*[%!]", line) else "pass" for line in source.splitlines())
    with _PARSING:
        return ast.parse("\n".join(lines))


def as_notebook(text: str, path: Path) -> NotebookNode:
    """Returns a page's text as a notebook; `metadata.source_map` holds the line above each cell, counted from 1."""
    from myst_nb.core.read import read_myst_markdown_notebook

    notebook = read_myst_markdown_notebook(text, syntax(), add_source_map=True, path=path)
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index}"
    return notebook


def page_at(book: Book, path: Path) -> Page:
    """Returns the page at ``path``; BookError if `_toc.yml` lists it and it does not exist."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise BookError(f"{path}: _toc.yml lists this page, but the file does not exist") from None
    return _page(book, path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=256)
def _page(book: Book, path: Path, mtime_ns: int, size: int) -> Page:
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(book.chapters).with_suffix("").as_posix()
    cells, found = cached(book.cache, f"page-{name}", digest(text), lambda: (_cells(text, path), tuple(blocks(text))))
    return Page(path, name, text, cells, found)


def _cells(text: str, path: Path) -> tuple[Cell, ...]:
    notebook, lines = as_notebook(text, path), text.splitlines()
    found = []
    for start, cell in zip(notebook.metadata.source_map, notebook.cells, strict=True):
        if cell.cell_type == "code":
            source = cell.source.splitlines()
            # Options stand between the opening of a cell and its source.
            line = next((n for n in range(start, len(lines)) if lines[n : n + len(source)] == source), start)
            found.append(Cell(cell.source, _plain(cell.metadata), line + 1))
    return tuple(found)


def _plain(value: Any) -> Any:
    """Returns a notebook's node as a dictionary that needs no package to be read back."""
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else value


def source(book: Book, page: str) -> Page:
    """Returns a page in the first language, whose cells are those of all."""
    return page_at(book, book.page(book.languages[0].code, page))


def every_page(book: Book) -> Iterator[tuple[Language, Page]]:
    """Yields each page of each language, with its language; BookError if one that `_toc.yml` lists does not exist."""
    for language in book.languages:
        for name in book.pages:
            yield language, page_at(book, book.page(language.code, name))


def found_on_pages(book: Book, name: str, look: Callable[[Page], list[str]]) -> list[str]:
    """Returns what ``look`` finds in each page's text, kept under ``name`` for as long as the text stays the same."""
    found = []
    for _, page in every_page(book):
        found += cached(book.cache, f"{name}-{page.name}", digest(page.text), partial(look, page))
    return found


def pages_with_cells(book: Book) -> list[str]:
    """Returns the pages that are executed, in reading order."""
    return [page for page in book.pages if source(book, page).cells]
