"""Chinese numbers, units and ratios as regular expressions, for `numbers`; `english` has the same for English."""

from __future__ import annotations

import re

from booktools.checks.marks import HAN_DIGITS, MARK, NOT_ONE

NUMBER = rf"(?:{HAN_DIGITS}+(?:点{HAN_DIGITS}+)?)"
SCALE = "[万亿]"
TIME = "毫秒|微秒|纳秒|秒|分钟|小时|天"
UNIT = r"毫秒|微秒|纳秒|秒|分钟|个?小时|天|倍|成(?![立为功本]|不变)|个百分点|[千兆吉太](?:字节|比特|赫兹?)|赫兹?|瓦|焦"
_LINKS = r"(?:[是为约达到了有至即：:≈=<>]|接近|超过|不到|小于|大于|高于|低于|等于|大约|只|仅)"
_NO_COUNT = "(?![个次台条块份种组项批行列位名家页段])"
AND = "、|和|或|至|到"
VERSION = r"\d+(?:\.\d+)+版"
NAME = r"(?:19|20)\d\d年"
END = r"[。！？][”）*]*(?:\s*{cite})*"
"""The end of a sentence, to which a citation belongs that follows the full stop."""


def patterns(number: str, time: str) -> tuple[re.Pattern[str], ...]:
    """Returns what finds a quantity in Chinese, of expressions for numbers and for units of time."""
    return (
        re.compile(r"半(?:毫秒|秒|分钟|个?小时|天)"),
        # 每秒2000次; but 每秒一次 is as good as "once a second"
        re.compile(rf"每一?{time}[^，。；：！？、{MARK}]{{0,8}}?(?!一[^百千万亿]){number}"),
        # 加速比是3.7
        re.compile(rf"(?:加速比|比值|比率|倍数|因子|之比){_LINKS}{{0,3}}\s?{NOT_ONE}{number}{_NO_COUNT}"),
        # 三分之二; but 三分之一 is free
        re.compile(rf"{NUMBER}分之(?!一(?!{HAN_DIGITS})){NUMBER}|百分之"),
    )
