"""The PDF of each language, of the site that is built."""

from __future__ import annotations

import io
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pikepdf

from booktools.formats.archive import epoch
from booktools.formats.files import write_file
from booktools.formats.pdf.document import document, mathjax_scripts, outline
from booktools.formats.pdf.fonts import font_rules, make_mathjax_fonts
from booktools.formats.pdf.packing import pack
from booktools.formats.pdf.printing import chromium, print_document
from booktools.formats.volume import Entry, References, make_volume, read_pages
from booktools.show.edition import labels_of
from booktools.site.provenance import site_address
from booktools.source.book import Book, BookError, Language

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REFERENCES = References("Solution on page {page}", "Exercise on page {page}")
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
    with tempfile.TemporaryDirectory() as folder:
        path, entries, facts = compose(book, language, site, Path(folder))
        return pack(print_document(browser, path), entries, facts, language.html, epoch(book.root))


def compose(book: Book, language: Language, site: Path, folder: Path) -> tuple[Path, list[Entry], dict[str, str]]:
    """Writes what is printed in a language into a folder; returns its path, the outline, and what the file says."""
    labels = labels_of(book, language)
    say, address = labels.translate, site_address(book)
    pages = read_pages(book, language, site)
    home = (site / book.path_on_site(language, book.pages[0])).parent
    inside = "".join(f"{part}/" for part in home.relative_to(site).parts)
    volume = make_volume(pages, say, REFERENCES, address and address + inside)
    text = document(volume, say)
    fonts = font_rules({*text, *map(chr, range(0x20, 0x7F))}, han=language.html.startswith("zh"))
    mathjax = site / "_static" / "mathjax"
    make_mathjax_fonts(mathjax / "output" / "chtml" / "fonts" / "woff-v2", folder / "fonts")
    sheet = f'<link rel="stylesheet" href="{(home / "_static" / "book.css").as_uri()}">'
    look = f"{sheet}<style>{fonts}{LOOK.read_text(encoding='utf-8')}</style>"
    scripts = mathjax_scripts(pages.values(), (mathjax / "tex-chtml.js").as_uri(), (folder / "fonts").as_uri())
    path = folder / "book.html"
    path.write_text(text.replace("</head>", f"{look}{scripts}</head>", 1), encoding="utf-8")
    author = say(str(book.config["author"]))
    if labels.missing:
        raise BookError(f"{labels.path}: has no translation of {', '.join(map(repr, labels.missing))}")
    return path, outline(volume, say), {"Title": volume.title, "Author": author}
