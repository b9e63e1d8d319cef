"""Text by outcome: what is chosen, and what is refused."""

from __future__ import annotations

import re

import pytest

from booktools.claims.claims import FAILED, HELD, NOT_RUN, Bound, Claim, Outcome
from booktools.claims.outcomes import choose, missing_failure_text, problems, problems_of, unconditional
from booktools.source.blocks import blocks
from booktools.source.book import Book
from tests.conftest import ROOT, edit

KNOWN: dict[str, Outcome] = {
    "p.fast": Claim("p.fast", (), lambda r: True),
    "p.gpu": Outcome("p.gpu", (), lambda r: True, needs=("cuda",)),
    "p.peak": Bound("p.peak", (), lambda r: True),
}


def test_the_book_s_text_by_outcome_is_whole() -> None:
    assert problems(Book(ROOT)) == []


def test_the_tiny_book_s_is_too(tiny: Book) -> None:
    assert problems(tiny) == []


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        (HELD, "It is *faster*, by {glue:text}`p.a` ([see](x.md)), here."),
        (FAILED, "It is slower here."),
        (NOT_RUN, "It is unknown here."),
    ],
)
def test_a_phrase_is_its_part(outcome: str, shown: str) -> None:
    phrase = "It is [*faster*, by {glue:text}`p.a` ([see](x.md)), | slower | unknown]{outcome=p.fast} here."
    assert choose(phrase, {"p.fast": outcome}.get) == shown


def test_several_phrases_of_a_paragraph_are_chosen_each_for_itself() -> None:
    text = "A [link](a.md), [one | other]{outcome=p.a},\n[this | that]{outcome=p.b}, `[x]`, a[1] and $[0, 1]$."
    chosen = choose(text, {"p.a": HELD, "p.b": FAILED}.get)
    assert chosen == "A [link](a.md), one,\nthat, `[x]`, a[1] and $[0, 1]$."


def test_a_part_that_is_lacking_leaves_the_phrase_to_be_seen() -> None:
    assert choose("[a | b]{outcome=p.fast}", {"p.fast": NOT_RUN}.get) == "[a | b]{outcome=p.fast}"
    assert choose("[a | b]{outcome=p.what}", {}.get) == "[a | b]{outcome=p.what}"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("One.\n\nTwo\n[a | b]{outcome=p.what}", 4, "there is no claim or outcome 'p.what' in chapters/claims/p.py"),
        ("[a]{outcome=p.fast}", 1, "one of them is lacking"),
        ("[a | b]{outcome=p.gpu}", 1, "p.gpu needs cuda: say in a third part"),
        ("[a | b | c | d]{outcome=p.fast}", 1, "are three parts; here are 4"),
        ("::::{outcome} p.fast\n:::{held}\na\n:::\n::::", 1, "one of them is lacking"),
        ("::::{outcome} p.fast\n:::{failed}\na\n:::\n::::", 1, "one of them is lacking"),
        ("::::{outcome} p.gpu\n:::{held}\na\n:::\n:::{failed}\na\n:::\n::::", 1, "p.gpu needs cuda"),
        ("```{outcome} p.what\n```", 1, "there is no claim or outcome 'p.what'"),
    ],
)
def test_half_a_text_is_refused(text: str, line: int, why: str) -> None:
    found = list(problems_of(blocks(text), KNOWN))
    assert len(found) == 1
    assert found[0][0] == line
    assert why in found[0][1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[a | b | c]{outcome=p.gpu} [a | b]{outcome=p.peak}", "the claim 'p.fast' has no text"),
        ("[a | b | c]{outcome=p.gpu} [a | b]{outcome=p.fast}", "the bound 'p.peak' has no text"),
        ("[a | b]{outcome=p.fast} [a | b]{outcome=p.peak}", "the outcome 'p.gpu' has no text"),
    ],
)
def test_every_outcome_is_spoken_of_where_it_fails(text: str, why: str) -> None:
    assert [why in found for _, found in missing_failure_text("p", blocks(text), KNOWN)] == [True]


def test_what_a_claim_says_where_it_failed_may_stand_in_its_box() -> None:
    text = "```{claim} p.fast\nIt is.\n\n:::{failed}\nIt is not.\n:::\n```\n\n"
    others = "[a | b | c]{outcome=p.gpu} [a | b]{outcome=p.peak}"
    assert list(missing_failure_text("p", blocks(text + others), KNOWN)) == []


def test_problems_name_file_and_line(tiny: Book) -> None:
    edit(tiny.page("zh", "tiny"), " | 没找到GPU]", "]")
    (problem,) = problems(tiny)
    line = 1 + tiny.page("zh", "tiny").read_text(encoding="utf-8").partition("没用上GPU")[0].count("\n")
    assert problem.startswith(f"chapters/zh/tiny.md:{line}: tiny.gpu needs cuda")


def test_what_is_read_on_every_machine_is_what_is_not_by_outcome() -> None:
    text = "A [b | c]{outcome=p.fast} d.\n\n::::{outcome} p.fast\n:::{held}\ne\n:::\n:::{failed}\nf\n:::\n::::\n\n"
    claim = "```{claim} p.gpu\nG.\n\n:::{failed}\nh\n:::\n```\n"
    kept = unconditional(text + claim)
    assert re.sub(r"[^A-Za-z]+", " ", kept).split() == ["A", "d", "outcome", "p", "fast", "claim", "p", "gpu", "G"]
