"""The PDF of each language, of the site that is built."""

from __future__ import annotations

import io
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pikepdf

from booktools.archive import epoch
from booktools.book import Book, BookError, Language
from booktools.edition import labels_of
from booktools.formats.files import write_file
from booktools.formats.pdf.document import Look, document, mathjax_settings, outline
from booktools.formats.pdf.fonts import font_rules
from booktools.formats.pdf.packing import pack
from booktools.formats.pdf.printing import chromium, print_document
from booktools.formats.volume import Entry, make_volume, read_pages
from booktools.provenance import site_address

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LOOK = Path(__file__).with_name("book.css")


def make_pdfs(book: Book) -> list[Path]:
    """Writes the book as a PDF in each language, says how large they are, and returns them."""
    paths = []
    with chromium() as browser:
        for language in book.languages:
            began = time.monotonic()
            data = make_pdf(browser, book, language, book.build / "html")
            paths.append(write_file(book, language, "pdf", data))
            with pikepdf.open(io.BytesIO(data)) as pdf:
                pages = len(pdf.pages)
            size, seconds = len(data) / 1e6, time.monotonic() - began
            print(f"{book.relative(paths[-1])}: {pages} pages, {size:.1f} MB, in {seconds:.0f} s", flush=True)
    return paths


def make_pdf(browser: Browser, book: Book, language: Language, site: Path) -> bytes:
    """Returns the book in a language as a PDF, of the site in the folder ``site``."""
    text, entries, facts = compose(book, language, site)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "book.html")
        path.write_text(text, encoding="utf-8")
        return pack(print_document(browser, path), entries, facts, language.html, epoch(book.root))


def compose(book: Book, language: Language, site: Path) -> tuple[str, list[Entry], dict[str, str]]:
    """Returns what is printed in a language, as HTML, the outline of the file, and what it says of itself."""
    labels = labels_of(book, language)
    say, address = labels.translate, site_address(book)
    pages = read_pages(book, language, site)
    folder = (site / book.path_on_site(language, book.pages[0])).parent
    volume = make_volume(pages, say, address and address + folder.relative_to(site).as_posix() + "/")
    entries, facts = outline(volume, say), {"Title": volume.title, "Author": say(str(book.config["author"]))}
    settings = next(filter(None, map(mathjax_settings, pages.values())), "")
    text = document(volume, say, Look([], "", settings))
    fonts = font_rules({*text, *map(chr, range(0x20, 0x7F))}, han=language.html.startswith("zh"))
    look = Look(
        sheets=[(folder / "_static" / "book.css").as_uri()],
        rules=fonts + LOOK.read_text(encoding="utf-8"),
        settings=settings,
        mathjax=(site / "_static" / "mathjax" / "tex-chtml.js").as_uri(),
    )
    text = document(volume, say, look)
    if labels.missing:
        raise BookError(f"{labels.path}: has no translation of {', '.join(map(repr, labels.missing))}")
    return text, entries, facts
