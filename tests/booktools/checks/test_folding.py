"""A cell either teaches or records: what a visible cell may not hold is found with its line; nothing else is."""

from __future__ import annotations

import pytest

from booktools.checks.folding import problems
from booktools.source.book import Book
from tests.conftest import edit_both

FOLDED = ":tags: [hide-input]\n\n"


def line_of(book: Book, text: str) -> int:
    return book.page("en", "tiny").read_text(encoding="utf-8").splitlines().index(text) + 1


def put(book: Book, cell: str) -> None:
    """Lets the tiny book's visible cell hold ``cell``."""
    edit_both(book, "tiny", "1 + 2", cell)


def test_the_tiny_book_records_in_folded_cells(tiny: Book) -> None:
    assert problems(tiny) == []


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ('record("tiny.n", 3)', "records"),
        ('    record("tiny.n", n)', "records"),
        ("fig, axes = figure()", "draws"),
        ('rows = Table(["n"], [[3]])', "draws"),
        ("import matplotlib.pyplot as plt; plt.plot([1])", "draws"),
        ("from matplotlib.pyplot import plot; plot([1])", "draws"),
        ("from dlperf import plot; plot.COLORS[0]", "draws"),
        ("keep = lambda n: record('tiny.n', n)", "records"),
    ],
)
def test_a_visible_cell_that_records_or_draws_is_named_with_its_line(tiny: Book, bad: str, what: str) -> None:
    put(tiny, f"total = 1 + 2\nfor n in range(1):\n    print(n)\n{bad}")
    (found,) = problems(tiny)
    assert found.startswith(f"chapters/en/tiny.md:{line_of(tiny, bad)}: this {what}"), found
    assert bad.strip() in found
    assert ":tags: [hide-input]" in found


@pytest.mark.parametrize("tag", ["hide-input", "hide-cell", "remove-input", "remove-cell"])
def test_a_folded_cell_may(tiny: Book, tag: str) -> None:
    put(tiny, f':tags: [{tag}]\n\nrecord("tiny.n", 3)\nfig, ax = figure()\nax.plot([1])')
    assert problems(tiny) == []


def test_a_tag_that_folds_nothing_excuses_nothing(tiny: Book) -> None:
    put(tiny, ':tags: [raises-exception]\n\nrecord("tiny.n", 3)')
    assert len(problems(tiny)) == 1


@pytest.mark.parametrize(
    "drawing",
    [
        "ax.plot([1])",
        "fig.savefig('a')",
        "for ax in axes:\n    pass\nax.legend()",
        "twin = ax.twinx()",
        "def draw(n):\n    ax.plot([n])",
        "print(ax)",
    ],
)
def test_what_a_folded_cell_made_is_drawn_on_in_no_visible_one(tiny: Book, drawing: str) -> None:
    edit_both(tiny, "tiny", "ax.legend()", "ax.legend()\naxes = fig.axes")
    put(tiny, drawing)
    assert problems(tiny)


@pytest.mark.parametrize(
    "teaching",
    [
        "import torch\n\nbegin = torch.cuda.Event()\nbegin.record()",
        "from dlperf.records import record",
        "ax = 3\nax + 1",
        'axes = ("data", "model")\nprint(axes)',
        "[ax for ax in range(3)]",
        "for ax in range(3):\n    print(ax)",
        "(lambda ax: ax + 1)(3)",
        "def record(n):\n    return n\n\nrecord(3)",
        'print("record(tiny.sum)")  # record(tiny.sum)',
        "%timeit sum(range(10))",
    ],
)
def test_other_things_of_the_same_name_pass(tiny: Book, teaching: str) -> None:
    put(tiny, teaching)
    assert problems(tiny) == []
