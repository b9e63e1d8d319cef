"""The blocks of a page as its readers see them: paragraphs, headings, figures, cells, numbered section by section.

A block is called by its section's anchor and its number there, such as `measuring-noise.3`. Both are the same in every
language, and what is added to one section renames nothing in the others. `twins` pairs blocks by their order; the
page's scripts find them by the attribute `data-block`, which holds the number.

By expressions, since what Sphinx writes is regular, and to parse a chapter takes most of a second.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass

_TAG = re.compile(r'<(/?)([a-zA-Z][\w-]*)((?:[^<>"]|"[^"]*")*)>')
_CLASS, _ID = re.compile(r' class="([^"]*)"'), re.compile(r' id="([^"]*)"')
_VOID = frozenset({"br", "col", "hr", "img", "input", "wbr"})


@dataclass(frozen=True)
class Shown:
    """A block: what it is called, its tag and classes, and where in the page its element begins and ends."""

    name: str
    tag: str
    classes: tuple[str, ...]
    start: int
    end: int

    @property
    def kind(self) -> str:
        """What must be the same in every language: the tag and the classes."""
        return ".".join((self.tag, *self.classes))


def blocks(html: str) -> list[Shown]:
    """Returns the blocks of the body of a page in order.

    Sections, solutions, what waits for a guess, and the lists of a section are open: what they hold is a block each.
    All else is whole.
    """
    found: list[Shown] = []
    numbers: Counter[str] = Counter()
    within: list[tuple[str, str]] = [("section", "")]
    position = 0
    while tag := _TAG.search(html, position):
        closing, name, attributes = tag.groups()
        position = tag.end()
        if closing:
            within.pop()
            continue
        classes = tuple(_first(_CLASS, attributes).split())
        outer, section = within[-1]
        if _is_open(name, classes, outer):
            within.append((name, (_first(_ID, attributes) if name == "section" else "") or section))
            continue
        position = tag.end() if name in _VOID else _end(html, name, tag.end())
        numbers[section] += 1
        found.append(Shown(f"{section}.{numbers[section]}", name, classes, tag.start(), position))
    return found


def number(html: str) -> str:
    """Returns the body of a page with the number of each block in its tag."""
    parts, position = [], 0
    for block in blocks(html):
        here = block.start + 1 + len(block.tag)
        parts += [html[position:here], f' data-block="{block.name.rpartition(".")[2]}"']
        position = here
    return "".join([*parts, html[position:]])


def _first(pattern: re.Pattern[str], attributes: str) -> str:
    match = pattern.search(attributes)
    return match[1] if match else ""


def _is_open(tag: str, classes: tuple[str, ...], outer: str) -> bool:
    in_section = outer == "section" and tag in ("ul", "ol", "dl")
    holds_text = (tag == "details" and "dl-solution" in classes) or "dl-predicted" in classes
    return tag == "section" or in_section or holds_text


@functools.cache
def _same(tag: str) -> re.Pattern[str]:
    return re.compile(rf'<(/?){tag}(?=[\s>/])(?:[^<>"]|"[^"]*")*>')


def _end(html: str, tag: str, position: int) -> int:
    """Returns where an element ends whose opening tag ends at ``position``."""
    depth = 1
    for match in _same(tag).finditer(html, position):
        if not match[0].endswith("/>"):
            depth += -1 if match[1] else 1
        if not depth:
            return match.end()
    raise ValueError(f"<{tag}> is never closed: {html[position : position + 80]!r}")
