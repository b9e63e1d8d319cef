"""Find naked numbers: times, rates, ratios and percentages that nothing vouches for.

A number may stand if it is glued from a measurement, if its sentence has a citation, or if it is
marked ``{given}`` because we chose it. Whatever shows is read: prose, mathematics, HTML, and
quantities set as code. Words for small numbers that count things (two devices, 三个队列) stay free.
Each language's grammar is in a module of its own, `english` and `chinese`; all pages are read by both.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from bs4 import BeautifulSoup

from booktools.checks import chinese, english
from booktools.checks.marks import CITE, MARK
from booktools.source.blocks import CODE, LINK, MATH, ROLE, Block

_LANGUAGES = english, chinese
_DIGITS = rf"(?<![A-Za-z0-9_.])\d[\d,. ]*(?:\s?(?:×|x)\s?10\^?[-−\d{{}}]+)?{chinese.SCALE}?"
_NUMBER = rf"(?:{_DIGITS}|{english.NUMBER}|{chinese.NUMBER})"
_TIME = rf"(?:{english.TIME}|{chinese.TIME})"
_SYMBOLS = (
    r"%|％|‰|[×xX](?!\s*[\d(])|[kKMGT]?i?B/s|[kKMGT]iB|[kKMGTP]B|(?:[kMGTPE]|(?<!one ))FLOPS?(?:/s)?|"
    r"[kMGT]?bit/s|[KMGT]bps|I?OPS|[QRT]PS|fps|[kKMGT]?Hz|[kMGT]?W|[mµnpfk]?J|[mµnp]?s(?:ec)?|min|°C"
)
_UNIT = rf"(?:(?:{_SYMBOLS}|{english.UNIT})(?![A-Za-z])|{chinese.UNIT})"
_PATTERNS = (
    # 12 ms, fifteen seconds, 十五秒, 3.7x; but 一秒 is as good as "a second"
    re.compile(rf"(?!一{_TIME}|一倍){_NUMBER}[\s~-]?{_UNIT}"),
    # tokens/s, 次/秒, 个每秒
    re.compile(rf"{_NUMBER}\s?(?:(?:[\w-]+\s?){{0,3}}?/\s?|[次个条页]?每){_TIME}(?![A-Za-z])"),
    *(pattern for language in _LANGUAGES for pattern in language.patterns(_NUMBER, _TIME)),
)
_DECIMAL = re.compile(r"(?<![A-Za-z0-9_.])\d+\.\d+(?![A-Za-z0-9_]|\.\d)")
"""What has a fraction counts nothing, so it is a quantity even where its unit is left out."""
_VERSION = re.compile(
    rf"{english.VERSION}(?:(?:{english.AND}|{chinese.AND}|[–-])\d+(?:\.\d+)*)*|[<>=]=\s?\d+(?:\.\d+)*|{chinese.VERSION}"
)
_IN_CODE = re.compile(
    rf"^\W*{_DIGITS}\s?{_UNIT}\W*$|{_DIGITS}(?<=\s){_UNIT}(?!\s*[\w(\[])|{_DIGITS}[x×%](?!\s*[\w(\[])"
)
"""A whole span that is a quantity; and what no language writes: a space before a unit, a number that ends in x or %."""
_VOUCHED = re.compile(r"glue\W?.*|given|here|recorded|machine|index|eq|numref")
_VALUED = re.compile(r"glue\W?.*|given|here|recorded")
_NAME = re.compile(rf"{english.NAME}|{chinese.NAME}|\d+[ -]?(?:bits?\b|位)")
"""Digits that count nothing: years and formats of numbers."""
_BEFORE, _AFTER = r"(?<![A-Za-z0-9_.,#/-])", r"(?![A-Za-z0-9_]|,\d)"
_NUMERAL = re.compile(rf"{_BEFORE}(?:\d[\d,]*\d(?:\.\d+)?(?:[–-]\d[\d,]*)?{_AFTER}|\d[\d,.]*{chinese.SCALE})")
"""A number of two digits or more: smaller ones count things, or name one of them."""
_END = re.compile("(?:" + "|".join(language.END.replace("{cite}", CITE) for language in _LANGUAGES) + ")")


def naked_numbers(block: Block) -> list[str]:
    """Returns the times, rates, ratios and percentages in a block that nothing vouches for."""
    found = []
    for sentence in _sentences(_shown(block)):
        if CITE not in sentence:
            found += _quantities(sentence)
    return found + [text for code in _codes(block) for text in _quantities_in_code(code)]


def numbers_met(block: Block) -> list[str]:
    """Returns the numbers that a reader of a block meets, as they stand in its source.

    That is every value that is glued or given, every quantity, and every numeral from ten on, but
    no version, year or name, and nothing in a formula, in code or behind a reference.
    """
    valued = [match[0] for match in ROLE.finditer(block.text) if _VALUED.fullmatch(match[1])]
    prose = MATH.sub(MARK, CODE.sub(MARK, ROLE.sub(_role, block.text)))
    shown = _shown(replace(block, text=prose, shown=""))
    for sentence in _sentences(_NAME.sub(_blank, shown)):
        unnamed = _VERSION.sub(lambda match: _blank(match) if "." in match[0] else match[0], sentence)
        numerals = [match.span() for match in _NUMERAL.finditer(unnamed)]
        valued += _apart(sentence, _spans(sentence) + numerals)
    return valued


def _quantities(text: str) -> list[str]:
    """Returns what in prose is a quantity, each stretch of text once."""
    return _apart(text, _spans(text))


def _spans(text: str) -> list[tuple[int, int]]:
    versions = _VERSION.sub(_blank, text)
    spans = [match.span() for pattern in _PATTERNS for match in pattern.finditer(text)]
    return spans + [match.span() for match in _DECIMAL.finditer(versions)]


def _apart(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """Returns the stretches of text at ``spans`` in order, without those that overlap an earlier one of the list."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if not any(start < after and before < end for before, after in found):
            found.append((start, end))
    return [text[start:end].strip() for start, end in sorted(found)]


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _quantities_in_code(code: str) -> list[str]:
    """Returns what in code is no code: `12 ms` and `3.7x`, but not `sleep(0.5)` or `--repeats 30`."""
    return [match[0].strip() for match in _IN_CODE.finditer(code)]


def _sentences(text: str) -> list[str]:
    """Returns the sentences of a text; a citation after the full stop belongs to the sentence before it."""
    ends = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(ends)]


def _shown(block: Block) -> str:
    """Returns what a block shows besides code, with marks for citations and for what is vouched for."""
    text = ROLE.sub(_role, block.text)
    text = CODE.sub(MARK, text)
    text = MATH.sub(lambda match: _plain(match[1]), text)
    text = re.sub(r"\*|~~|(?<!\w)_+|_+(?!\w)", "", LINK.sub("]", text))
    if block.kind in ("html", "{raw}"):
        text = block.shown
    elif block.kind in ("equation", "{math}"):
        text = _plain(block.shown)
    if re.search(r"<[A-Za-z!/]|&#?\w+;", text):
        text = _html(text)
    return re.sub(r"\s+", " ", text).replace("μ", "µ")


def _codes(block: Block) -> list[str]:
    """Returns what a block shows as code, each span or line on its own."""
    if block.kind in ("code", "{code-block}"):
        return block.shown.replace("μ", "µ").splitlines()
    return [match[2].replace("μ", "µ") for match in CODE.finditer(ROLE.sub(MARK, block.text))]


def _role(match: re.Match[str]) -> str:
    name, content = match[1], match[3]
    if name.startswith("cite"):
        return CITE
    if _VOUCHED.fullmatch(name):
        return MARK
    if name == "math":
        return f"${content}$"
    title, _, target = content.partition("<")
    return title if target or name not in ("ref", "doc", "prf:ref") else MARK


def _plain(tex: str) -> str:
    """Returns a formula as it reads: without thin spaces and the braces of upright text."""
    text = re.sub(r"\\(?:mathrm|text|operatorname)\{([^{}]*)\}", r"\1", re.sub(r"\\[,;:! ]|~", " ", tex))
    for command, sign in ((r"\times", "×"), (r"\mu", "µ"), (r"\%", "%")):
        text = text.replace(command, sign)
    return text


def _html(text: str) -> str:
    """Returns what HTML shows or says: its text, and the attributes that are read out or pop up."""
    soup = BeautifulSoup(text, "html.parser")
    for hidden in soup(["style", "script"]):
        hidden.decompose()
    said = [tag[name] for tag in soup.find_all(True) for name in ("alt", "title", "aria-label") if tag.has_attr(name)]
    return " ".join([soup.get_text(" "), *map(str, said)])
