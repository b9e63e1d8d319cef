"""Find naked numbers: times, rates, ratios and percentages that nothing vouches for.

A number may stand if it is glued from a measurement, if its sentence has a citation, or if it is
marked ``{given}`` because we chose it. Whatever shows is read: prose, mathematics, HTML, and
quantities set as code. Words for small numbers that count things (two devices, 三个队列) stay free.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from bs4 import BeautifulSoup

from booktools.source.blocks import CODE, LINK, MATH, ROLE, Block

_CITE, _MARK = "\ue000", "\ue001"
"""Stand for a citation, and for anything else that vouches for itself."""

_SMALL = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen"
)
_PARTS = "third quarter fourth fifth sixth seventh eighth ninth tenth hundredth thousandth millionth"
_WORD = rf"(?:{'|'.join(_SMALL.split())})"
_ENGLISH = rf"(?<!{_MARK} )(?i:\b{_WORD}(?:(?:[\s-]|\sand\s){_WORD})*\b)"
_HAN_DIGITS = "[零〇一二两三四五六七八九十百千万亿]"
_CHINESE = rf"(?:{_HAN_DIGITS}+(?:点{_HAN_DIGITS}+)?)"
_DIGITS = r"(?<![A-Za-z0-9_.])\d[\d,. ]*(?:\s?(?:×|x)\s?10\^?[-−\d{}]+)?[万亿]?"
_NUMBER = rf"(?:{_DIGITS}|{_ENGLISH}|{_CHINESE})"
_NOT_ONE = rf"(?!1(?![\d万亿]|[.,]\d)|one\b(?!-)|一(?!{_HAN_DIGITS}|点))"
"""A ratio of one says that two things are equal."""

_TIME = (
    r"(?:[mµnp]?s(?:ec)?|min|h|(?i:(?:milli|micro|nano|pico)?second|minute|hour|day)|毫秒|微秒|纳秒|秒|分钟|小时|天)"
)
_UNIT = (
    r"(?:(?:%|％|‰|[×xX](?!\s*[\d(])|[kKMGT]?i?B/s|[kKMGT]iB|[kKMGTP]B|(?:[kMGTPE]|(?<!one ))FLOPS?(?:/s)?|"
    r"[kMGT]?bit/s|[KMGT]bps|I?OPS|[QRT]PS|fps|[kKMGT]?Hz|[kMGT]?W|[mµnpfk]?J|[mµnp]?s(?:ec)?|min|°C|"
    r"(?i:(?:milli|micro|nano|pico)?seconds?|minutes?|hours?|days?|times|fold|per\s?cent|percentage points?|"
    r"(?:kilo|mega|giga|tera|peta|exa)flops?|(?:kilo|mega|giga|tera|peta)?(?:hertz|watts?|joules?)|"
    r"(?:kilo|mega|giga|tera|peta|kibi|mebi|gibi|tebi)(?:bytes?|bits?)))(?![A-Za-z])|"
    r"毫秒|微秒|纳秒|秒|分钟|个?小时|天|倍|成(?![立为功本]|不变)|个百分点|[千兆吉太](?:字节|比特|赫兹?)|赫兹?|瓦|焦)"
)
_LINKS = (
    r"(?:\s(?:of|is|was|are|were|be|at|most|least|about|around|roughly|nearly|almost|only|just|by|to|than|less|more|"
    r"over|under|below|above|between|some|up|equals|reaches|=|≈))"
)
_CHINESE_LINKS = r"(?:[是为约达到了有至即：:≈=<>]|接近|超过|不到|小于|大于|高于|低于|等于|大约|只|仅)"
_NO_COUNT = "(?![个次台条块份种组项批行列位名家页段])"

_PATTERNS = (
    # 12 ms, fifteen seconds, 十五秒, 3.7x; but 一秒 is as good as "a second"
    re.compile(rf"(?!一{_TIME}|一倍){_NUMBER}[\s~-]?{_UNIT}"),
    re.compile(r"(?i:\bhalf (?:an? )?(?:milli|micro|nano)?(?:second|minute|hour|day)\b)|半(?:毫秒|秒|分钟|个?小时|天)"),
    # tokens/s, 2,000 samples a second, 次/秒, 每秒2000次
    re.compile(rf"{_NUMBER}\s?(?:(?:[\w-]+\s?){{0,3}}?/\s?|[次个条页]?每){_TIME}(?![A-Za-z])"),
    re.compile(rf"{_NUMBER}\s(?:[\w-]+\s){{0,3}}?(?:per|an?|each|every)\s{_TIME}\b(?!\stime)"),
    re.compile(rf"每一?{_TIME}[^，。；：！？、{_MARK}]{{0,8}}?(?!一[^百千万亿]){_NUMBER}"),
    # a factor of 3.7, 加速比是3.7
    re.compile(rf"(?i:\bfactors? (?:of|above|below|over|under|near|between))\s{_NOT_ONE}{_NUMBER}"),
    re.compile(
        rf"(?i:\b(?:ratios?|speed-?ups?|slow-?downs?){_LINKS}{{0,3}}\s{_NOT_ONE}{_NUMBER})"
        r"(?=\s*(?:$|[.,;:!?)—]|(?:and|or|to|for|in|on|at|with|when|if|while|by|over|against|but|from|here|there)\b))"
    ),
    re.compile(rf"(?:加速比|比值|比率|倍数|因子|之比){_CHINESE_LINKS}{{0,3}}\s?{_NOT_ONE}{_NUMBER}{_NO_COUNT}"),
    # thirty percent is above; two thirds, 三分之二, twice as fast; but a third is free
    re.compile(rf"(?i:\b(?!one\b){_WORD}[\s-](?:{'|'.join(_PARTS.split())})s\b)"),
    re.compile(rf"{_CHINESE}分之(?!一(?!{_HAN_DIGITS})){_CHINESE}|百分之"),
    re.compile(r"(?i:\b(?:twice|half) as\b)"),
)
_DECIMAL = re.compile(r"(?<![A-Za-z0-9_.])\d+\.\d+(?![A-Za-z0-9_]|\.\d)")
"""What has a fraction counts nothing, so it is a quantity even where its unit is left out."""
_VERSION = re.compile(
    r"(?:[A-Z][\w.+-]*|\b[Vv]ersions?)\s?[<>=≥≤\s]*\d+(?:\.\d+)*(?:(?:, | or | and |、|和|或|至|到|[–-])\d+(?:\.\d+)*)*"
    r"|[<>=]=\s?\d+(?:\.\d+)*|\d+(?:\.\d+)+版"
)
_IN_CODE = re.compile(
    rf"^\W*{_DIGITS}\s?{_UNIT}\W*$|{_DIGITS}(?<=\s){_UNIT}(?!\s*[\w(\[])|{_DIGITS}[x×%](?!\s*[\w(\[])"
)
"""A whole span that is a quantity; and what no language writes: a space before a unit, a number that ends in x or %."""
_VOUCHED = re.compile(r"glue\W?.*|given|here|recorded|machine|index|eq|numref")
_VALUED = re.compile(r"glue\W?.*|given|here|recorded")
_NAME = re.compile(
    r"(?i:\b(?:in|since|from|until|before|after|of|by) )(?:19|20)\d\d\b(?![,.]?\d)|(?:19|20)\d\d年|"
    r"\d+[ -]?(?:bits?\b|位)"
)
"""Digits that count nothing: years and formats of numbers."""
_BEFORE, _AFTER = r"(?<![A-Za-z0-9_.,#/-])", r"(?![A-Za-z0-9_]|,\d)"
_NUMERAL = re.compile(rf"{_BEFORE}(?:\d[\d,]*\d(?:\.\d+)?(?:[–-]\d[\d,]*)?{_AFTER}|\d[\d,.]*[万亿])")
"""A number of two digits or more: smaller ones count things, or name one of them."""
_END = re.compile(rf"(?:[.!?][\"')\]*]*\s*{_CITE}*\s+(?=[^a-z{_CITE}])|[。！？][”）*]*(?:\s*{_CITE})*)")


def naked_numbers(block: Block) -> list[str]:
    """Returns the times, rates, ratios and percentages in a block that nothing vouches for."""
    found = []
    for sentence in _sentences(_shown(block)):
        if _CITE not in sentence:
            found += _quantities(sentence)
    return found + [text for code in _codes(block) for text in _quantities_in_code(code)]


def numbers_met(block: Block) -> list[str]:
    """Returns the numbers that a reader of a block meets, as they stand in its source.

    That is every value that is glued or given, every quantity, and every numeral from ten on, but
    no version, year or name, and nothing in a formula, in code or behind a reference.
    """
    valued = [match[0] for match in ROLE.finditer(block.text) if _VALUED.fullmatch(match[1])]
    prose = MATH.sub(_MARK, CODE.sub(_MARK, ROLE.sub(_role, block.text)))
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
    text = CODE.sub(_MARK, text)
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
    return [match[2].replace("μ", "µ") for match in CODE.finditer(ROLE.sub(_MARK, block.text))]


def _role(match: re.Match[str]) -> str:
    name, content = match[1], match[3]
    if name.startswith("cite"):
        return _CITE
    if _VOUCHED.fullmatch(name):
        return _MARK
    if name == "math":
        return f"${content}$"
    title, _, target = content.partition("<")
    return title if target or name not in ("ref", "doc", "prf:ref") else _MARK


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
