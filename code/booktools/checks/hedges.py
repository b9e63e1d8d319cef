"""Check for sentences that make the reader choose, such as "where this factor is above one …".

Only the commonest shapes are found. Advice is none of them: "if it lies inside, look at a timeline".
"""

from __future__ import annotations

import re
from functools import partial

from booktools.source.blocks import CODE, MATH, ROLE, Block
from booktools.source.book import Book
from booktools.source.page import Page, found_on_pages

REMEDY = "makes the reader choose; say what happened on the machine shown, as text by outcome"

_SUBJECT = (
    r"(?:it|this|that|they|these|(?:the|this|that|these|its|their)\s(?:[\w-]+\s){0,2}?(?:ratio|factor|value|number|gain|"
    r"share|difference|speedup|spread|curve|dot|point|bar|line|time|rate|one|two|first|second|third|last|other)s?)"
)
_VERB = r"(?:is|are|was|were|lies?|lay|stays?|comes?|came|falls?|fell|rises?|rose|differs?)"
_HOW = (
    r"(?:(?:well|far|clearly|much|somewhat|slightly|no|the)\s)?(?:above|below|over|under|near|close\sto|large|small|long|"
    r"short|high|low|worse|better|more|less|fewer|\w{3,}er(?:\sthan)?|apart)\b"
)
_LOSES = r"\b(?:loses?|wins?|fails?|gains?|helps?|holds?|takes?\s(?:longer|less|more))\b"
ENGLISH = (
    re.compile(rf"\b[Ww]here\s{_SUBJECT}\s(?:{_VERB}\s{_HOW}|exceeds?|reach(?:es)?)"),
    re.compile(
        rf"\b(?:[Ww]here|[Ii]f|[Ww]hen|[Uu]nless)\s[^.;:,]{{0,40}}{_LOSES}[^.;:,]{{0,30}}\b(?:here|on this machine)\b"
    ),
    re.compile(rf"\b[Ii]f\s{_SUBJECT}\s{_VERB}\s[^.;:,]{{0,30}}\b(?:here|on this machine)\b"),
)
_VALUE = r"(?:比值|比例|倍数|数字|峰值|数值|差别|差距|这个比|后一个|前一个|后者|前者|点|曲线|它)"
CHINESE = (
    re.compile(
        rf"{_VALUE}[^。；，：]{{0,4}}(?:若|如果|要是)(?:明显|远远?|略|稍)?(?:[大小高低多少长短]于|超过|不到|较|更|接近)"
    ),
    re.compile(r"(?:若|如果|要是)[^。；，：]{0,6}(?:[大小高低]于|超过|不到)[1一零0](?![\d.])"),
)


def problems(book: Book) -> list[str]:
    """Returns each sentence that makes the reader choose, as messages."""
    return found_on_pages(book, "hedges", partial(_problems, book))


def _problems(book: Book, page: Page) -> list[str]:
    where = book.relative(page.path)
    return [
        f"{where}:{block.line}: {text!r} {REMEDY}\n    {block.text.strip()[:160]}"
        for block in page.blocks
        for text in hedges(block)
    ]


def hedges(block: Block) -> list[str]:
    """Returns each stretch of a block's prose that makes the reader choose."""
    text = block.text
    for pattern in (ROLE, CODE, MATH):
        text = pattern.sub("#", text)
    spans = sorted(match.span() for pattern in (*ENGLISH, *CHINESE) for match in pattern.finditer(text))
    apart = [span for n, span in enumerate(spans) if n == 0 or span[0] >= max(end for _, end in spans[:n])]
    return [text[start:end] for start, end in apart]
