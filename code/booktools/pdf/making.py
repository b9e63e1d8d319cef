"""The PDFs of the book, one per language, of the site that is built."""

from __future__ import annotations

import os
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from booktools.book import Book, BookError, Language
from booktools.edition import labels_of
from booktools.pdf.document import Site, document
from booktools.pdf.faces import faces
from booktools.pdf.packing import packed
from booktools.pdf.printing import chromium, printed
from booktools.provenance import committed, site_address

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAME = "computational-performance"
"""The files' name, before the language."""
LOOK = Path(__file__).with_name("book.css")


def make_pdfs(book: Book) -> list[Path]:
    """Writes the book as a PDF in each language to `_build/pdf`, says how large they are, and returns them."""
    from pypdf import PdfReader

    made = []
    with chromium() as browser:
        for language in book.languages:
            print(f"{language.name}: ", end="", flush=True)
            began = time.monotonic()
            data = pdf(browser, book, language, book.build / "html")
            path = book.build / "pdf" / f"{NAME}-{language.code}.pdf"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            pages, spent = PdfReader(path).get_num_pages(), time.monotonic() - began
            print(f"{book.relative(path)}, {pages} pages, {len(data) / 1e6:.1f} MB, in {spent:.0f} s", flush=True)
            made.append(path)
    return made


def pdf(browser: Browser, book: Book, language: Language, site: Path) -> bytes:
    """Returns the book in a language as a PDF, of the site in the folder ``site``."""
    text, facts = sourced(book, language, site)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "book.html")
        path.write_text(text, encoding="utf-8")
        data, headings = printed(browser, path)
        return packed(data, facts, date_of(book), headings)


def sourced(book: Book, language: Language, site: Path) -> tuple[str, dict[str, str]]:
    """Returns what is printed in a language, as HTML, and what the file says of itself."""
    labels = labels_of(book, language)
    place = "" if language == book.languages[0] else f"{language.code}/"
    address = site_address(book)
    bare = document(Site(read(book, site / place), address and address + place), labels.translate)
    title, author = labels.translate(str(book.config["title"])), labels.translate(str(book.config["author"]))
    if labels.missing:
        raise BookError(f"{labels.path}: has no translation of {', '.join(map(repr, labels.missing))}")
    han = language.html.startswith("zh")
    fonts = faces({*bare, *map(chr, range(0x20, 0x7F))}, han)
    static = [(site / place / "_static" / name).as_uri() for name in ("book.css", "print.css")]
    sheets = "".join(f'<link rel="stylesheet" href="{address}">' for address in static)
    look = f"{sheets}<style>{fonts}{LOOK.read_text(encoding='utf-8')}</style>"
    return bare.replace("</title>", f"</title>{look}", 1), {"Title": title, "Author": author}


def read(book: Book, folder: Path) -> dict[str, str]:
    """Returns the built pages of a language in reading order; BookError where the site lacks one."""
    pages = {}
    for name in book.pages:
        path = folder / f"{name}.html"
        try:
            pages[name] = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise BookError(f"{path}: the PDF is made of the built site, which lacks this page: make book") from None
    return pages


def date_of(book: Book) -> datetime:
    """Returns the date that the files bear: that of ``SOURCE_DATE_EPOCH``, else of the commit, else the epoch's."""
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        return datetime.fromtimestamp(int(epoch), UTC)
    return datetime.fromisoformat(committed(book) or "1970-01-01T00:00:00Z")
