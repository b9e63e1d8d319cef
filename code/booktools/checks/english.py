"""English numbers, units and ratios as regular expressions, for `numbers`; `chinese` has the same for Chinese."""

from __future__ import annotations

import re

from booktools.checks.marks import MARK, NOT_ONE

_SMALL = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen"
)
_PARTS = "third quarter fourth fifth sixth seventh eighth ninth tenth hundredth thousandth millionth"
_WORD = rf"(?:{'|'.join(_SMALL.split())})"
NUMBER = rf"(?<!{MARK} )(?i:\b{_WORD}(?:(?:[\s-]|\sand\s){_WORD})*\b)"
TIME = r"[mµnp]?s(?:ec)?|min|h|(?i:(?:milli|micro|nano|pico)?second|minute|hour|day)"
UNIT = (
    r"(?i:(?:milli|micro|nano|pico)?seconds?|minutes?|hours?|days?|times|fold|per\s?cent|percentage points?|"
    r"(?:kilo|mega|giga|tera|peta|exa)flops?|(?:kilo|mega|giga|tera|peta)?(?:hertz|watts?|joules?)|"
    r"(?:kilo|mega|giga|tera|peta|kibi|mebi|gibi|tebi)(?:bytes?|bits?))"
)
_LINKS = (
    r"(?:\s(?:of|is|was|are|were|be|at|most|least|about|around|roughly|nearly|almost|only|just|by|to|than|less|more|"
    r"over|under|below|above|between|some|up|equals|reaches|=|≈))"
)
VERSION = r"(?:[A-Z][\w.+-]*|\b[Vv]ersions?)\s?[<>=≥≤\s]*\d+(?:\.\d+)*"
AND = ", | or | and "
NAME = r"(?i:\b(?:in|since|from|until|before|after|of|by) )(?:19|20)\d\d\b(?![,.]?\d)"
END = r"[.!?][\"')\]*]*\s*{cite}*\s+(?=[^a-z{cite}])"
"""The end of a sentence, to which a citation belongs that follows the full stop."""


def patterns(number: str, time: str) -> tuple[re.Pattern[str], ...]:
    """Returns what finds a quantity in English, of expressions for numbers and for units of time."""
    return (
        re.compile(r"(?i:\bhalf (?:an? )?(?:milli|micro|nano)?(?:second|minute|hour|day)\b)"),
        # 2,000 samples a second
        re.compile(rf"{number}\s(?:[\w-]+\s){{0,3}}?(?:per|an?|each|every)\s{time}\b(?!\stime)"),
        # a factor of 3.7, a speedup of 2
        re.compile(rf"(?i:\bfactors? (?:of|above|below|over|under|near|between))\s{NOT_ONE}{number}"),
        re.compile(
            rf"(?i:\b(?:ratios?|speed-?ups?|slow-?downs?){_LINKS}{{0,3}}\s{NOT_ONE}{number})"
            r"(?=\s*(?:$|[.,;:!?)—]|(?:and|or|to|for|in|on|at|with|when|if|while|by|over|against|but|from|here|there)\b))"
        ),
        # two thirds, twice as fast; but a third is free
        re.compile(rf"(?i:\b(?!one\b){_WORD}[\s-](?:{'|'.join(_PARTS.split())})s\b)"),
        re.compile(r"(?i:\b(?:twice|half) as\b)"),
    )
