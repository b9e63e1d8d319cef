"""The EPUB of each language, of the site that is built."""

from __future__ import annotations

import html
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

from bs4 import Tag

from booktools.formats.archive import epoch
from booktools.formats.epub.package import Facts, pack
from booktools.formats.epub.xhtml import SVG, to_xhtml
from booktools.formats.files import write_file
from booktools.formats.volume import Entry, References, Volume, headings, make_volume, read_pages
from booktools.show.edition import labels_of
from booktools.site.provenance import site_address
from booktools.source.book import Book, BookError, Language

REFERENCES = References("To the solution", "Back to the exercise")
LOOK = Path(__file__).with_name("book.css")
DEEPEST = 2
"""Levels of headings in the table of contents."""


def make_epubs(book: Book) -> list[Path]:
    """Writes the book as an EPUB in each language, says how large they are, and returns them."""
    paths = []
    for language in book.languages:
        began = time.monotonic()
        data = make_epub(book, language, book.build / "html")
        paths.append(write_file(book, language, "epub", data))
        size, seconds = len(data) / 1e6, time.monotonic() - began
        print(f"{book.relative(paths[-1])}: {size:.1f} MB, in {seconds:.0f} s", flush=True)
    return paths


def make_epub(book: Book, language: Language, site: Path) -> bytes:
    """Returns the book in a language as an EPUB, of the site in the folder ``site``."""
    labels = labels_of(book, language)
    say, address = labels.translate, site_address(book)
    inside = "".join(f"{part}/" for part in Path(book.path_on_site(language, book.pages[0])).parent.parts)
    volume = make_volume(read_pages(book, language, site), say, REFERENCES, address and address + inside)
    facts = Facts(
        title=volume.title,
        author=say(str(book.config["author"])),
        language=volume.language,
        rights=say("Text: CC BY 4.0. Code: MIT."),
        when=epoch(book.root),
    )
    contents, cover = say("Contents"), say("Cover")
    if labels.missing:
        raise BookError(f"{labels.path}: has no translation of {', '.join(map(repr, labels.missing))}")
    files, entries, places = volume_files(volume, cover)
    return pack(files, contents, entries, places, facts)


def volume_files(volume: Volume, cover: str) -> tuple[dict[str, str], list[Entry], dict[str, str]]:
    """Returns the files of a book by name, the headings to be listed, and the file of each id.

    ``cover`` is the title of the first page.
    """
    places = dict(_places(volume))
    entries = [entry for each in volume.chapters.values() for entry in headings(each, DEEPEST)]
    files = {"cover.svg": cover_image(volume), "book.css": LOOK.read_text(encoding="utf-8")}
    files["cover.xhtml"] = to_xhtml(volume.cover, cover, volume.language, places)
    for name, chapter in volume.chapters.items():
        title = headings(chapter, 1)[0].text
        files[file_of(name)] = to_xhtml(chapter, title, volume.language, places)
    return files, entries, places


def file_of(name: str) -> str:
    """Returns the name of the file that holds a chapter."""
    return f"{name.replace('/', '-')}.xhtml"


def _places(volume: Volume) -> Iterator[tuple[str, str]]:
    """Yields each id of the book with the file in which it stands."""
    for name, chapter in volume.chapters.items():
        for tag in [chapter, *chapter.find_all(id=True)]:
            yield str(tag["id"]), file_of(name)


def cover_image(volume: Volume) -> str:
    """Returns what a shelf shows of the book: its sign and its title, as SVG."""
    sign = volume.cover.svg
    drawn = sign.decode_contents() if isinstance(sign, Tag) else ""
    width = 9 if volume.language.startswith("zh") else 18
    lines = textwrap.wrap(volume.title, width)
    words = "".join(f'<text x="60" y="{430 + 76 * n}">{html.escape(line)}</text>' for n, line in enumerate(lines))
    return (
        f'<svg xmlns="{SVG}" viewBox="0 0 600 900" font-family="sans-serif" font-size="54" font-weight="700" '
        f'fill="#1c2224"><rect width="600" height="900" fill="#fcfcfa"/><g transform="translate(60 180) scale(6)" '
        f'fill="none" stroke="#0b6670" stroke-width="1.5">{drawn}</g>{words}</svg>\n'
    )
