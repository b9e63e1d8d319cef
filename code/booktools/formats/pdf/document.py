"""The HTML page that is printed: cover, contents with page numbers to be filled in, and every chapter."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from booktools.formats.volume import FOLIO, Entry, Say, Volume, headings

CONTENTS = "contents"
"""The id of the contents."""
LISTED = 2
"""Levels of headings in the contents; the outline of the file has one more."""
_WITHOUT_HELPERS = "Object.assign(window.MathJax.options, { enableAssistiveMml: false });"
"""MathJax, too, writes a second formula for screen readers, which paper would hold as hidden text."""


@dataclass(frozen=True)
class Look:
    """What the page is set with: addresses of style sheets, further rules, MathJax's settings and its program."""

    sheets: Iterable[str]
    rules: str
    settings: str = ""
    mathjax: str = ""


def mathjax_settings(page: str) -> str:
    """Returns the settings that a page of the site gives MathJax; empty where it has none."""
    found = re.search(r"<script>([^<]*window\.MathJax = .*?)</script>", page, re.S)
    return found[1] if found else ""


def document(volume: Volume, say: Say, look: Look) -> str:
    """Returns the book as one HTML page, whose page numbers are still to be filled in."""
    heads = [_head(CONTENTS, say("Contents"))]
    for number, chapter in enumerate(volume.chapters.values()):
        chapter["style"] = f"page: chapter{number}"
        heads.append(_head(f"chapter{number}", headings(chapter, 1)[0].text))
    head = [f"<title>{html.escape(volume.title)}</title>"]
    head += [f'<link rel="stylesheet" href="{html.escape(sheet)}">' for sheet in look.sheets]
    head.append(f"<style>{look.rules}{''.join(heads)}</style>")
    if look.settings:
        head.append(f"<script>{look.settings}{_WITHOUT_HELPERS}</script>")
        head.append(f'<script defer src="{html.escape(look.mathjax)}"></script>')
    root = f'<html lang="{volume.language}" style="{html.escape("--dl-book: " + quoted(volume.title))}">'
    targets = "".join(f'<a href="#{each.id}"></a>' for each in outline(volume, say))  # Chromium keeps places of targets
    body = [str(volume.cover), _contents(volume, say), *map(str, volume.chapters.values())]
    body.append(f'<nav class="dl-targets">{targets}</nav>')
    return (
        f'<!DOCTYPE html>\n{root}<head><meta charset="utf-8">{"".join(head)}</head><body>{"".join(body)}</body></html>\n'
    )


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
