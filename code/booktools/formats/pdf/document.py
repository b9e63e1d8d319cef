"""The HTML page that is printed: cover, contents with page numbers to be filled in, and every chapter."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator

from booktools.formats.volume import FOLIO, Entry, Say, Volume, headings

CONTENTS = "contents"
"""The id of the contents."""
LISTED = 2
"""Levels of headings in the contents; the outline of the file has one more."""
_SETTINGS = re.compile(r"<script>([^<]*window\.MathJax = .*?)</script>", re.S)
"""What tells MathJax on a page of the site how to set formulas."""
_NO_SECOND_FORMULA = "MathJax.options.enableAssistiveMml = false;"
"""For screen readers MathJax writes each formula twice, and a file would hold both."""


def mathjax_scripts(pages: Iterable[str], program: str, fonts: str) -> str:
    """Returns the scripts that set formulas as the site does, with other fonts; empty where no page has a formula.

    ``program`` and ``fonts`` are the addresses of MathJax and of a folder of its fonts.
    """
    settings = next(filter(None, (_SETTINGS.search(page) for page in pages)), None)
    if settings is None:
        return ""
    own = json.dumps({"fontURL": fonts, "unknownFamily": "var(--text)"})
    return (
        f"<script>{settings[1]}{_NO_SECOND_FORMULA}MathJax.chtml = {own};</script>"
        f'<script defer src="{html.escape(program)}"></script>'
    )


def document(volume: Volume, say: Say) -> str:
    """Returns the book as one HTML page, without its look; its page numbers are still to be filled in."""
    heads = [_head(CONTENTS, say("Contents"))]
    for number, chapter in enumerate(volume.chapters.values()):
        chapter["style"] = f"page: chapter{number}"
        heads.append(_head(f"chapter{number}", headings(chapter, 1)[0].text))
    root = f'<html lang="{volume.language}" style="{html.escape("--dl-book: " + quoted(volume.title))}">'
    targets = "".join(f'<a href="#{each.id}"></a>' for each in outline(volume, say))  # Chromium keeps places of targets
    body = [str(volume.cover), _contents(volume, say), *map(str, volume.chapters.values())]
    body.append(f'<nav class="dl-targets">{targets}</nav>')
    head = f'<meta charset="utf-8"><title>{html.escape(volume.title)}</title><style>{"".join(heads)}</style>'
    return f"<!DOCTYPE html>\n{root}<head>{head}</head><body>{''.join(body)}</body></html>\n"


def outline(volume: Volume, say: Say) -> list[Entry]:
    """Returns the outline of the file: the contents, then each chapter with its sections and what these hold."""
    words = say("Contents")
    return [Entry(1, CONTENTS, words, words), *(entry for each in volume.chapters.values() for entry in headings(each))]


def quoted(words: str) -> str:
    """Returns words as a string of CSS."""
    return '"' + re.sub(r'[\\"<]', lambda sign: f"\\{ord(sign[0]):x} ", words) + '"'


def _head(name: str, words: str) -> str:
    """Returns the style of the pages of a chapter: their head names it."""
    return f"@page {name} {{ @top-left {{ content: {quoted(words)} }} }}\n"


def _contents(volume: Volume, say: Say) -> str:
    lists = "".join(f"<ol>{''.join(_lines(headings(each, LISTED)))}</ol>" for each in volume.chapters.values())
    return f'<nav class="dl-contents" id="{CONTENTS}"><h1>{html.escape(say("Contents"))}</h1>{lists}</nav>'


def _lines(entries: Iterable[Entry]) -> Iterator[str]:
    for each in entries:
        yield f'<li class="dl-level{each.level}"><a href="#{each.id}"><span>{each.html}</span><i></i>{FOLIO}</a></li>'
