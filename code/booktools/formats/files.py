"""Write PDFs and EPUBs to `_build`, each with a hash of the site it was made of, and copy those still current."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from booktools.formats.archive import epoch
from booktools.formats.volume import read_pages
from booktools.source.book import Book, BookError, Language

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


def copy_current(book: Book, folder: Path) -> list[Path]:
    """Copies the files that were made of the site that is built now, says which were not, and returns the copies."""
    copies = []
    for kind in KINDS:
        for language in book.languages:
            path = path_of(book, language, kind)
            if not path.is_file():
                continue
            mark = _site_mark(path)
            if mark.is_file() and mark.read_text(encoding="utf-8") == site_digest(book, language):
                copies.append(Path(shutil.copy(path, folder)))
            else:
                print(f"Left out: {book.relative(path)}, made of another site; make {kind} makes it anew", flush=True)
    return copies


def site_digest(book: Book, language: Language) -> str:
    """Returns a hash of what the pages of a language show, without what stands around them, and of their date.

    It is empty where there is no site.
    """
    try:
        pages = read_pages(book, language, book.build / "html")
    except BookError:
        return ""
    shown = "\0".join([str(epoch(book.root)), *("".join(_ARTICLE.findall(page)) for page in pages.values())])
    return hashlib.sha256(shown.encode()).hexdigest()


def _site_mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.site")
