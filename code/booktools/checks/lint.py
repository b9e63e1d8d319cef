"""Check every page for naked numbers, and Chinese pages for their typography."""

from __future__ import annotations

import re

from booktools.checks.numbers import naked_numbers
from booktools.source.blocks import CODE, ROLE, Block
from booktools.source.book import Book
from booktools.source.page import Page, found_on_pages

REMEDY = "; glue it from a measurement, cite its source, or mark it {given} if it was chosen"
_HAN = r"[\u3400-\u4dbf\u4e00-\u9fff]"
CHINESE = (
    (
        re.compile(rf"{_HAN}(\*+)`[^`]*`\1"),
        "emphasis before a role does not open after Han: emphasise the Han word, then the role",
    ),
    (
        re.compile(rf"{_HAN} +[A-Za-z0-9`$]|[A-Za-z0-9`$] +{_HAN}"),
        "a space between Han and Latin is the style sheet's, not typed",
    ),
    (re.compile(rf"{_HAN}[,;:?!](?![A-Za-z0-9])|{_HAN}\("), "after Han stands full-width punctuation"),
    (
        re.compile(rf"[。，；：？！、）》”]\*\*(?={_HAN})"),
        "bold that ends in punctuation does not close before Han: move the mark out",
    ),
    (re.compile(r"(?<![`\w])https?://[^\s`>)]+(?=[\u3400-\u9fff])"), "a bare address swallows the Chinese after it"),
)


def problems(book: Book) -> list[str]:
    """Returns every naked number, and what is wrong with the typography of Chinese, as messages."""
    return [f"chapters/{problem}" for problem in found_on_pages(book, "lint", _problems)]


def _problems(page: Page) -> list[str]:
    found = []
    for block in page.blocks:
        where = f"{page.name}.md:{block.line}"
        found += [f"{where}: naked number {text!r}{REMEDY}\n    {_short(block)}" for text in naked_numbers(block)]
        if page.path.parent.name == "zh":
            found += [f"{where}: {text!r}: {why}" for text, why in chinese_problems(block)]
    return found


def chinese_problems(block: Block) -> list[tuple[str, str]]:
    """Returns what is wrong with the typography of a Chinese block: the text and why."""
    text = block.text
    found = (
        [("…".join(text.split("\n")[:2])[:60], "a paragraph is one line: a line break becomes a space")]
        if "\n" in text
        else []
    )
    shown = CODE.sub("`c`", ROLE.sub("`r`", text))
    return found + [(match[0], why) for pattern, why in CHINESE for match in pattern.finditer(shown)]


def _short(block: Block) -> str:
    return block.text.strip().replace("\n", " ")[:160]
