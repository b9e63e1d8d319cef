"""What a margin note says; where it stands is tested in the browser."""

from __future__ import annotations

import pytest
from pybtex.database import parse_string

from booktools.notes import short


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("author = {Amdahl, Gene M.}, title = {On {GPU} Speed}, year = 1967", "Amdahl: On GPU Speed (1967)"),
        ("author = {van der Berg, A. and G{\\\"o}del, K.}, title = {Two}, year = 1999",
         "van der Berg and Gödel: Two (1999)"),
        ("author = {A, A and B, B and C, C}, title = {Three}, year = 2001", "A et al.: Three (2001)"),
        ("author = {A, A and others}, title = {Many}, year = 2001", "A et al.: Many (2001)"),
        ("author = {{Python Software Foundation}}, title = {timeit}, year = 2026",
         "Python Software Foundation: timeit (2026)"),
        ("title = {Nobody}", "Nobody"),
    ],
)  # fmt: skip
def test_a_note_says_who_what_and_when(fields: str, said: str) -> None:
    entry = parse_string(f"@misc{{key, {fields}}}", "bibtex").entries["key"]
    assert short(entry, "ABC12") == said


def test_a_label_that_is_a_name_needs_no_name() -> None:
    entry = parse_string("@misc{key, author = {{PyTorch contributors}}, title = {Slow}, year = 2026}", "bibtex")
    assert short(entry.entries["key"], "PyTorchcontributors26") == "Slow (2026)"
