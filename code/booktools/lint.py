"""Lints: no naked number in any language, and the typography of Chinese.

A time, rate, ratio or percentage in prose is glued from a measurement, or its block has a citation,
or it is marked ``{given}`` because we chose it.
"""

from __future__ import annotations

import re

from booktools.blocks import CODE, MATH, ROLE, Block
from booktools.book import Book
from booktools.page import page_at

_UNIT = (
    r"%|％|‰|×(?!\s*[\d(])|[kKMGT]?i?B/s|[kKMGT]iB|[kKMGTP]B|[kMGTP]?FLOPS?(?:/s)?|"
    r"[kMGT]?bit/s|[KMGT]bps|[KMGT]?Hz|[mµun]?s(?:ec)?|min|"
    r"(?:milli|micro|nano)?seconds?|minutes?|hours?|days?|times|percent|fold|"
    r"毫秒|微秒|纳秒|秒|分钟|小时|天|倍|成(?!立)|个百分点"
)
_NUMBER = r"\d[\d,. ]*(?:\s?(?:×|x)\s?10\^?[-−\d{}]+)?"
NAKED = re.compile(rf"(?<![A-Za-z0-9_.]){_NUMBER}[\s~-]?(?:{_UNIT})(?![A-Za-z])")
IN_WORDS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|twenty|hundred|thousand|million)(?:[- ]times|[- ]?fold)\b|"
    r"\btwice as\b|\bhalf as\b|\b(?:two|three|ten) (?:seconds|milliseconds|microseconds|minutes|hours)\b|"
    r"[两二三四五六七八九十百千万]+(?:倍|毫秒|微秒|秒|分钟|小时)|百分之|[两三四五六七八九]成(?!立)",
    re.I,
)
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
    found = []
    for language in book.languages:
        for page in book.pages:
            path = book.page(language.code, page)
            for block in page_at(book, path).blocks if path.is_file() else ():  # A missing page is parity's to report.
                where = f"{book.relative(path)}:{block.line}"
                found += [
                    f"{where}: naked number {text!r}{REMEDY}\n    {_short(block)}" for text in naked_numbers(block)
                ]
                if language.code == "zh":
                    found += [f"{where}: {text!r}: {why}" for text, why in chinese_problems(block)]
    return found


def naked_numbers(block: Block) -> list[str]:
    """Returns the times, rates, ratios and percentages in a block that nothing vouches for."""
    if re.search(r"\{cite[:\w]*\}", block.text):
        return []
    text = CODE.sub(" ", ROLE.sub(" ", block.text))
    text = MATH.sub(lambda match: _plain(match[1]), text)
    return [match[0].strip() for pattern in (NAKED, IN_WORDS) for match in pattern.finditer(text)]


def _plain(tex: str) -> str:
    """Returns a formula as it reads: without thin spaces and the braces of upright text."""
    return re.sub(r"\\(?:mathrm|text)\{([^{}]*)\}", r"\1", re.sub(r"\\[,;: ]|~", " ", tex)).replace(r"\%", "%")


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
