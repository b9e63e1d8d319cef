"""The lint against ratios of medians by hand."""

from __future__ import annotations

import ast

import pytest

from booktools.checks.ratios import divisions, problems
from booktools.source.book import Book
from tests.conftest import edit


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("a.median / b.median", True),
        ("x['k'].median / f(8).median", True),
        ("a.median / b", True),
        ("n / b.median", True),
        ("1 / b.median", True),
        ("2 * n / a.median / peak", True),
        ("8 * a.median / n", True),
        ("-a.median / (b.median - c)", True),
        ("a.median / 1e6", False),
        ("a.median / 2**20", False),
        ("(a / b).median", False),
        ("over(a, b)", False),
        ("f(a.median) / n", False),
        ("a.median * n", False),
        ("np.median / 1", False),
    ],
)
def test_what_is_a_division_of_medians(code: str, refused: bool) -> None:
    assert bool(list(divisions(ast.parse(code)))) is refused


def test_a_message_names_the_line(tiny: Book) -> None:
    edit(tiny.page("en", "tiny"), "1 + 2", "x = 1\nx.median / y.median")
    text = tiny.page("en", "tiny").read_text(encoding="utf-8").splitlines()
    line = text.index("x.median / y.median") + 1
    (problem,) = problems(tiny)
    assert problem.startswith(f"chapters/en/tiny.md:{line}: `x.median / y.median` loses its spread")
