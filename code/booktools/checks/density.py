"""Check that a paragraph has at most four numbers: the others belong into a table or a figure.

A paragraph that needs more says why, in a comment on the line before it: ``% numbers: why``. One before a
directive, such as a claim, holds for all that is in it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from booktools.checks.numbers import numbers_met
from booktools.claims.outcomes import PHRASE, parts_of
from booktools.source.blocks import Block
from booktools.source.book import Book
from booktools.source.page import Page, found_on_pages

MOST = 4
REMEDY = f"a paragraph has at most {MOST}: leave the others to a table or a figure, or put `% numbers: why` before it"
READ = frozenset({"paragraph", "item paragraph", "option", "glossary definition"})
"""Kinds of blocks that are read as running text, in claims, captions and exercises too; tables are not."""


def problems(book: Book) -> list[str]:
    """Returns each paragraph with too many numbers, and each idle excuse."""
    return found_on_pages(book, "density", partial(_problems, book))


def _problems(book: Book, page: Page) -> list[str]:
    where, found = book.relative(page.path), []
    dense = {block.line: (block, met) for block, met in counts(page) if len(met) > MOST}
    for line, reasons in page.remarks("numbers").items():
        covered = [number for number in dense if line <= number <= page.end(line)]
        if not all(reasons):
            found.append(f"{where}:{line}: `% numbers:` gives no reason; say why this cannot do with {MOST}")
        elif not covered:
            found.append(f"{where}:{line}: `% numbers:` excuses what has no more than {MOST}; remove it")
        for number in covered:
            del dense[number]
    for block, met in dense.values():
        found.append(f"{where}:{block.line}: {len(met)} numbers; {REMEDY}\n    {', '.join(met)}")
    return found


def counts(page: Page) -> list[tuple[Block, list[str]]]:
    """Returns the paragraphs of a page with the numbers in each; of a phrase by outcome, those of its fullest part."""
    return [(block, _met(block)) for block in page.blocks if block.kind in READ]


def _met(block: Block) -> list[str]:
    def fullest(phrase: re.Match[str]) -> str:
        return max(parts_of(phrase[1]), key=lambda part: len(_met(replace(block, text=part))))

    return numbers_met(replace(block, text=PHRASE.sub(fullest, block.text)))
