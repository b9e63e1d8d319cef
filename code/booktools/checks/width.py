"""Check that visible code fits into its column: unfolded cells, fenced code, included source.

In another language comments and docstrings are translated, and Han takes two columns a sign: that is looked at too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from booktools.show.catalogue import COLUMNS, Catalogue, columns
from booktools.show.edition import labels_of
from booktools.source.blocks import Block
from booktools.source.book import Book, BookError
from booktools.source.cache import cached, digest, digest_of_files
from booktools.source.page import Page, every_page

REMEDY = f"visible code has at most {COLUMNS} columns, since more would scroll: break the line"


@dataclass(frozen=True)
class Code:
    """Lines of code that a page shows, and the file and line, counted from 1, at which they begin."""

    kind: str
    lines: Sequence[str]
    path: Path
    line: int


def problems(book: Book) -> list[str]:
    """Returns each line of visible code that is too wide."""
    found: dict[str, None] = {}
    for language, page in every_page(book):
        labels = labels_of(book, language).path
        look = partial(_problems, book, page, labels)
        # A word that changes in prose moves lines of code, but makes none wider.
        if cached(book.cache, f"width-{page.name}", _code(book, page, labels), look):
            found |= dict.fromkeys(look())
    return list(found)


def _code(book: Book, page: Page, labels: Path | None) -> str:
    """Returns a hash of all code that a page shows, and of what translates it."""
    code = [block for block in page.blocks if block.kind in ("code", "{code-block}", "{literalinclude}")]
    files = [included(page, block)[0] for block in code if block.kind == "{literalinclude}"]
    cells = [f"{cell.is_visible}{cell.source}" for cell in page.cells]
    shown = [f"{block.kind}{block.same}{block.shown}" for block in code]
    return digest(*cells, *shown, digest_of_files(book.root, [*files, *([labels] if labels else [])]))


def _problems(book: Book, page: Page, labels: Path | None) -> list[str]:
    """Returns the problems of a page; with ``labels``, of what is not as it is in the first language."""
    found = []
    for code in visible(book, page):
        if code.kind == "fence" or labels is None:
            for number, line in enumerate(code.lines, code.line):
                if columns(line) > COLUMNS:
                    found.append(f"{_where(book, page, code, number)}: {columns(line)} columns; {REMEDY}\n    {line}")
        if labels is not None:
            catalogue = Catalogue(labels)
            translate = catalogue.translate_diff if code.path.suffix == ".diff" else catalogue.translate_code
            shown = translate("\n".join(code.lines)).split("\n")
            for line in shown:
                if columns(line) > COLUMNS and line not in code.lines:
                    found.append(
                        f"{_where(book, page, code, code.line)}: {labels.name} makes a line here "
                        f"{columns(line)} columns wide; {REMEDY}, or say it shorter\n    {line}"
                    )
    return found


def _where(book: Book, page: Page, code: Code, line: int) -> str:
    shown_by = "" if code.path == page.path else f" (shown by {book.relative(page.path)})"
    return f"{book.relative(code.path)}:{line}{shown_by}"


def visible(book: Book, page: Page) -> Iterator[Code]:
    """Yields all code that a page shows without being asked to, in three kinds: cell, fence, included.

    BookError names an included object, or lines of a file, that are not there.
    """
    for cell in page.cells:
        if cell.is_visible:
            yield Code("cell", cell.source.split("\n"), page.path, cell.line)
    text = page.text.split("\n")
    for block in page.blocks:
        if block.kind in ("code", "{code-block}"):
            lines = block.shown.rstrip("\n").split("\n")
            yield Code("fence", lines, page.path, _begin(text, lines, block.line) or block.line)
        elif block.kind == "{literalinclude}":
            yield included_code(book, page, block)


def included(page: Page, block: Block) -> tuple[Path, dict[str, str]]:
    """Returns the file that a ``literalinclude`` names, and its options."""
    from myst_parser.parsers.options import options_to_items

    argument, *rest = block.same.strip().split("\n")
    options, _ = options_to_items("\n".join(line[1:] for line in rest if line.startswith(":")))
    return (page.path.parent / argument.strip()).resolve(), dict(options)


def included_code(book: Book, page: Page, block: Block) -> Code:
    """Returns what Sphinx would show for a ``literalinclude``."""
    from sphinx.directives.code import LiteralInclude, LiteralIncludeReader

    path, given = included(page, block)
    try:
        options: dict[str, Any] = {name: LiteralInclude.option_spec[name](value) for name, value in given.items()}
        # All of Sphinx's configuration that it asks for.
        config: Any = SimpleNamespace(source_encoding="utf-8-sig")
        shown, _ = LiteralIncludeReader(str(path), options, config).read()
    except Exception as error:
        raise BookError(f"{book.relative(page.path)}:{block.line}: {error}") from None
    lines = shown.rstrip("\n").split("\n")
    return Code("included", lines, path, _begin(path.read_text(encoding="utf-8").split("\n"), lines, 0) or 1)


def _begin(text: Sequence[str], lines: Sequence[str], start: int) -> int:
    """Returns the line of ``text``, counted from 1, at which ``lines`` stand at or after ``start``, or 0."""
    wanted = [line.strip() for line in lines]
    ahead = range(start, len(text) - len(lines) + 1)
    return next((n + 1 for n in ahead if [line.strip() for line in text[n : n + len(lines)]] == wanted), 0)
