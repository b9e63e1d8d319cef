"""Select a page's text by outcome (held, failed, not run), and check that no outcome lacks its text.

A phrase, in prose, with a third part where a machine may be unable to run it; the parts have no ``[`` of
their own but in pairs, and are parted by a bar with a space on each side::

    The second thread [takes the rest | only waits | was not tried]{outcome=page.id}.

Blocks, in a directive of their own or in ``{claim}``, where ``{failed}`` says what happened instead::

    ::::{outcome} page.id
    :::{held}
    …
    :::
    :::{failed}
    …
    :::
    ::::

Which part is shown is decided by the machine whose values the page shows; what is not shown is not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from booktools.claims.claims import FAILED, HELD, NOT_RUN, Bound, Claim, Outcome, all_outcomes
from booktools.source.blocks import Block, directives
from booktools.source.book import Book
from booktools.source.page import every_page

PHRASE = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\{outcome=([\w.-]+)\}")
PARTS = (HELD, FAILED, NOT_RUN)
BLOCK = directives("held", "failed", "not-run")


def parts_of(phrase: str) -> list[str]:
    """Returns the parts of a phrase by outcome: where it held, where it failed, and where it was not run."""
    return [part.strip() for part in phrase.split(" | ")]


def choose(text: str, outcome: Callable[[str], str | None]) -> str:
    """Returns a page's text with every phrase by outcome as it is for ``outcome``, which is asked with its id.

    Where a part is lacking or the id is unknown, the phrase stays: a warning follows when it is rendered.
    """

    def chosen(match: re.Match[str]) -> str:
        parts, found = parts_of(match[1]), outcome(match[2])
        known = found in PARTS and PARTS.index(found) < len(parts)
        return parts[PARTS.index(str(found))] if known else match[0]

    return PHRASE.sub(chosen, text)


def unconditional(text: str) -> str:
    """Returns a page's text without all that is by outcome: what is read on every machine."""
    return BLOCK.sub("", PHRASE.sub("", text))


def directive(outcome: str) -> str:
    """Returns the name of the directive that holds the text for an outcome."""
    return outcome.replace(" ", "-")


def problems(book: Book) -> list[str]:
    """Returns what is wrong with text by outcome, as messages with file and line that say what would be right."""
    known = all_outcomes(book)
    found = []
    for _, page in every_page(book):
        wrong = [*problems_of(page.blocks, known), *missing_failure_text(page.path.stem, page.blocks, known)]
        found += [f"{book.relative(page.path)}:{line}: {why}" for line, why in wrong]
    return found


def problems_of(blocks: Sequence[Block], known: Mapping[str, Outcome]) -> Iterator[tuple[int, str]]:
    """Yields what is wrong with each text by outcome: the line, and what would be right."""
    for block in blocks:
        for match in PHRASE.finditer(block.text):
            line = block.line + block.text.count("\n", 0, match.start())
            yield from ((line, why) for why in _wrong(match[2], len(parts_of(match[1])), known))
    for line, kind, target, have in _directives(blocks):
        if kind == "{outcome}":
            count = 0 if not {HELD, FAILED} <= have else 3 if NOT_RUN in have else 2
            yield from ((line, why) for why in _wrong(target, count, known))


def missing_failure_text(name: str, blocks: Sequence[Block], known: Mapping[str, Outcome]) -> Iterator[tuple[int, str]]:
    """Yields each claim, outcome and bound of a page whose text does not say what happened where it failed."""
    spoken = {match[2] for block in blocks for match in PHRASE.finditer(block.text)}
    spoken |= {target for _, _, target, have in _directives(blocks) if FAILED in have}
    for outcome in known.values():
        if outcome.id.partition(".")[0] == name and outcome.id not in spoken:
            what = {Claim: "the claim", Bound: "the bound"}.get(type(outcome), "the outcome")
            yield 1, f"{what} {outcome.id!r} has no text for a machine on which it fails: {{failed}} says what happened"


def _wrong(target: str, parts: int, known: Mapping[str, Outcome]) -> Iterator[str]:
    if target not in known:
        yield f"there is no claim or outcome {target!r} in chapters/claims/{target.partition('.')[0]}.py"
        return
    if parts < 2:
        yield f"{target}: a text by outcome says what is so where it held and where it failed; one of them is lacking"
    if parts == 2 and known[target].needs:
        needs = ", ".join(known[target].needs)
        yield f"{target} needs {needs}: say in a third part what is so where it was not run"
    if parts > 3:
        yield f"{target}: held, failed and not run are three parts; here are {parts}"


def _directives(blocks: Sequence[Block]) -> Iterator[tuple[int, str, str, set[str]]]:
    """Yields every ``{outcome}`` and ``{claim}`` of a page: line, kind, id, and the outcomes for which it has text.

    What a directive holds follows it as blocks of their own.
    """
    starts = [n for n, block in enumerate(blocks) if block.kind in ("{outcome}", "{claim}")]
    for n, start in enumerate(starts):
        block = blocks[start]
        end = starts[n + 1] if n + 1 < len(starts) else len(blocks)
        kinds = {each.kind for each in blocks[start + 1 : end]}
        have = {part for part in PARTS if f"{{{directive(part)}}}" in kinds}
        yield block.line, block.kind, block.same.partition("\n")[0], have
