"""What a PDF of the book is asked: its outline, links, fonts and pages."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import pikepdf

from booktools.formats.pdf.printing import WIDTH, open_document

A4 = (595, 842)
"""Points."""
LOWEST = 100
"""Points above the lower edge: a heading that stands lower has nothing below it."""
LEAST = 8
"""Pieces of text and drawings: a page with fewer holds nothing but its head and foot."""
_SHOWN = re.compile(rb"\b(?:Tj|TJ|Do|f|S)\b")
TALLEST = 248 * 96 / 25.4
"""CSS pixels: the height of a page between its margins."""
CUT = f"""() => [...document.querySelectorAll("article :is(svg, table, pre, figure, mjx-container)")]
    .filter((each) => !each.closest("mjx-assistive-mml"))
    .map((each) => [each, each.getBoundingClientRect()])
    .filter(([each, box]) => box.right > {WIDTH} + 2 || box.left < -2
        || (each.matches("svg, mjx-container") && box.height > {TALLEST})
        || (each.matches("pre") && each.scrollWidth > each.clientWidth + 1))
    .map(([each, box]) => `${{each.tagName}} ${{box.left}} to ${{box.right}}: ${{each.textContent.slice(0, 60)}}`)"""
"""Finds what does not fit on a page."""


class Printed:
    """A PDF, opened."""

    def __init__(self, data: bytes) -> None:
        self.pdf = pikepdf.open(io.BytesIO(data))
        self._numbers = {page.objgen: number for number, page in enumerate(self.pdf.pages, 1)}

    def number(self, place: Any) -> int:
        """Returns the number of the page to which a place belongs, counted from one."""
        return self._numbers[place[0].objgen]

    def outline(self) -> list[tuple[int, str, Any]]:
        """Returns the outline: depth from 1, title, and place."""

        def walk(items: list[pikepdf.OutlineItem], depth: int) -> Iterator[tuple[int, str, Any]]:
            for item in items:
                yield depth, item.title, item.destination
                yield from walk(list(item.children), depth + 1)

        with self.pdf.open_outline() as shown:
            return list(walk(list(shown.root), 1))

    def dead_links(self) -> list[str]:
        """Returns the targets of links within the file that it does not have."""
        places = self.pdf.Root.Dests
        notes = [note for page in self.pdf.pages for note in page.get("/Annots", [])]
        inner = [str(note.Dest) for note in notes if "/Dest" in note]
        assert inner, "no links"
        return [name for name in inner if name not in places]

    def fonts_not_embedded(self) -> list[str]:
        """Returns the fonts that the file names and does not hold, or holds in nameless pieces."""
        found: dict[str, bool] = {}
        for page in self.pdf.pages:
            for font in page.resources.get("/Font", {}).values():
                inner = font.DescendantFonts[0] if "/DescendantFonts" in font else font
                described = inner.get("/FontDescriptor", {})
                found[str(font.get("/BaseFont", "a font in pieces"))] = any(
                    key in described for key in ("/FontFile", "/FontFile2", "/FontFile3")
                )
        assert found, "no fonts"
        return sorted(name for name, held in found.items() if not held)

    def blank_pages(self) -> list[int]:
        """Returns the numbers of pages on which nothing stands but head and foot."""
        return [number for number, page in enumerate(self.pdf.pages, 1) if _pieces(page) < LEAST]

    def odd_sizes(self) -> list[int]:
        """Returns the numbers of pages that are not A4."""
        sizes = [tuple(round(float(side)) for side in page.mediabox[2:]) for page in self.pdf.pages]
        return [number for number, size in enumerate(sizes, 1) if size != A4]

    def lonely_headings(self) -> list[str]:
        """Returns the headings that stand at the foot of a page."""
        return [title for _, title, place in self.outline() if float(place[3]) < LOWEST]


def _pieces(page: pikepdf.Page) -> int:
    contents = page.obj.Contents
    streams = list(contents) if isinstance(contents, pikepdf.Array) else [contents]
    return sum(len(_SHOWN.findall(stream.read_bytes())) for stream in streams)  # type: ignore[union-attr]


def cut_off(browser: Any, path: Any) -> list[str]:
    """Returns what of a document that is to be printed would be cut off at the edges of a page."""
    page = open_document(browser, path)
    try:
        return page.evaluate(CUT)
    finally:
        page.close()
