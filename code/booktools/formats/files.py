"""Where the book's files lie, `_build/pdf` and `_build/epub`, and of which site each was made."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from booktools.book import Book, BookError, Language
from booktools.formats.volume import read_pages

KINDS = ("pdf", "epub")
"""The kinds of files, each the name of its folder and the ending of its files."""
_ARTICLE = re.compile(r"<article>.*</article>", re.S)


def path_of(book: Book, language: Language, kind: str) -> Path:
    """Returns the path of the file of a kind in a language: the book's title, then the language."""
    title = re.sub(r"\W+", "-", str(book.config["title"]).lower()).strip("-")
    return book.build / kind / f"{title}-{language.code}.{kind}"


def write_file(book: Book, language: Language, kind: str, data: bytes) -> Path:
    """Writes what was made of the built site, and beside it of which; returns the path."""
    path = path_of(book, language, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    _site_mark(path).write_text(site_digest(book, language), encoding="utf-8")
    return path


def written_files(book: Book) -> Iterator[tuple[Path, bool]]:
    """Yields the files that there are, each with whether it was made of the site that is built now."""
    for kind in KINDS:
        for language in book.languages:
            path = path_of(book, language, kind)
            if path.is_file():
                mark = _site_mark(path)
                made_of = mark.read_text(encoding="utf-8") if mark.is_file() else ""
                yield path, made_of == site_digest(book, language)


def site_digest(book: Book, language: Language) -> str:
    """Returns a hash of what the pages of a language show, without what stands around them; empty without a site."""
    try:
        pages = read_pages(book, language, book.build / "html")
    except BookError:
        return ""
    shown = "\0".join("".join(_ARTICLE.findall(page)) for page in pages.values())
    return hashlib.sha256(shown.encode()).hexdigest()


def _site_mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.site")
