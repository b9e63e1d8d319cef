"""Check the order of glossary entries: English by the alphabet, Chinese by pinyin.

Its entries in two languages are therefore paired by the English term: in English the term itself, in other languages
the words with which a definition begins, up to the first mark of punctuation: ``accelerator。…``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from booktools.source.blocks import Block
from booktools.source.book import Book
from booktools.source.page import Page, found_on_pages

TERM, DEFINITION = "glossary term", "glossary definition"
HOMOPHONES = {"重新": "虫新", "缓存行": "缓存杭"}
"""Words with a character that GB 2312 files under another of its readings, and how they are filed here.

重 is filed as zhòng, here it is chóng; 行 as xíng, here it is háng.
"""


@dataclass(frozen=True)
class Entry:
    """An entry: the English term that names it, the term in its own language, and its blocks."""

    key: str
    term: Block
    blocks: tuple[Block, ...]


def entries(blocks: Sequence[Block], is_first: bool) -> list[Entry]:
    """Returns a glossary's entries, of a page in the book's first language or in another."""
    starts = [at for at, block in enumerate(blocks) if block.kind == TERM]
    found = []
    for start, end in pairwise([*starts, len(blocks)]):
        own = [block for block in blocks[start:end] if block.kind in (TERM, DEFINITION)]
        name = own[0].text if is_first or len(own) == 1 else re.split("[。，；（]", own[1].text)[0]
        found.append(Entry(name.strip(), own[0], tuple(own)))
    return found


def paired(ours: Sequence[Block], theirs: Sequence[Block]) -> tuple[list[Block], list[str]]:
    """Returns their blocks with the glossary's in our order; or as they are, and what hinders that.

    Each problem begins with a line of the page in the other language, and a colon.
    """
    first, second = entries(ours, is_first=True), entries(theirs, is_first=False)
    place = {each.key: number for number, each in enumerate(first)}
    times = Counter(each.key for each in second)
    begin = next((block.line for block in theirs if block.kind == "{glossary}"), 1)
    wrong = [f"{begin}: the glossary lacks {key!r}" for key in place if key not in times]
    for key, often in Counter(each.key for each in first).items():
        if often > 1:
            wrong.append(f"{begin}: the first language explains {key!r} {often} times")
    for each in second:
        if each.key not in place:
            wrong.append(f"{each.term.line}: {each.term.text!r} explains {each.key!r}, which the first language lacks")
        elif times[each.key] > 1:
            wrong.append(f"{each.term.line}: {each.key!r} is explained {times[each.key]} times")
    if wrong or not first:
        return list(theirs), wrong
    in_order = iter([block for each in sorted(second, key=lambda each: place[each.key]) for block in each.blocks])
    return [next(in_order) if block.kind in (TERM, DEFINITION) else block for block in theirs], []


def order(term: str, code: str) -> bytes:
    """Returns what a term is sorted by, in the language of this code.

    In Chinese that is its bytes in GB 2312: Latin comes first, and the 3,755 characters of the first level (lead bytes
    B0 to D7) stand there by pinyin and tone. ValueError names a character that is not among them.
    """
    if code != "zh":
        return term.lower().encode()
    for word, filed in HOMOPHONES.items():
        term = term.replace(word, filed)
    filed_as = term.lower().encode("gb2312", errors="replace")
    for character in term:
        if not character.isascii() and not b"\xb0" <= character.encode("gb2312", errors="replace")[:1] <= b"\xd7":
            raise ValueError(character)
    return filed_as


def problems(book: Book) -> list[str]:
    """Returns each entry of a glossary that stands after one that its readers would look for behind it."""
    return found_on_pages(book, "glossary", partial(_problems, book))


def _problems(book: Book, page: Page) -> list[str]:
    where, code = book.relative(page.path), page.name.partition("/")[0]
    found: list[str] = []
    last: tuple[bytes, str] | None = None
    for block in (block for block in page.blocks if block.kind == TERM):
        try:
            now = order(block.text, code)
        except ValueError as error:
            found.append(
                f"{where}:{block.line}: GB 2312 does not file {error} by pinyin: name a homophone in HOMOPHONES"
            )
            continue
        if last and now < last[0]:
            found.append(
                f"{where}:{block.line}: {block.text!r} stands after {last[1]!r}, where readers do not look for it"
            )
        last = now, block.text
    return found
