"""What a page takes from another machine, and where it says so."""

from __future__ import annotations

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from booktools.claims.claims import HELD, NOT_RUN, Outcome
from booktools.executions.executions import Execution
from booktools.executions.records import BORROWED, PARTLY, Machine, borrow
from booktools.show.catalogue import Catalogue
from booktools.show.edition import Edition
from booktools.source.book import Book
from booktools.source.kernel import KEY
from booktools.source.notebook import glue
from tests.booktools.claims.test_claims import executed, machine
from tests.conftest import ROOT


def page(text: str, *keys: str) -> NotebookNode:
    """Returns a page of this text and of one cell, which has recorded these keys."""
    stored = [
        new_output(
            "display_data", {"application/papermill.record/text/plain": "1"}, metadata={"scrapbook": {"name": key}}
        )
        for key in keys
    ]
    environment = {"cpu": "Thingamajig", "cores": 1}
    mark = {"fingerprint": {}, "machine": environment, "environment": environment}
    cells = [new_markdown_cell(text), new_code_cell("record()", outputs=stored, execution_count=1)]
    return new_notebook(cells=cells, metadata={KEY: mark})


LENDER = Machine("lender", {"p": Execution.of(page("", "p.a", "p.b"))})
READ = "{glue:text}`p.a` and {glue:text}`p.b`."
FAILED = "{glue:text}`p.a`.\n\n```{claim} p.c\nSo.\n\n:::{failed}\nNo: {glue:text}`p.b`.\n:::\n```\n"


@pytest.mark.parametrize(
    ("text", "own", "lent", "said"),
    [
        (READ, (), {"p.a", "p.b"}, BORROWED),
        (READ, ("p.a",), {"p.b"}, PARTLY),
        (READ, ("p.a", "p.b"), set(), ""),
        (FAILED, ("p.a",), {"p.b"}, ""),
    ],
    ids=["all of a cell", "a part of it", "nothing", "only for where a claim failed"],
)
def test_a_cell_says_that_it_borrows_what_is_read(text: str, own: tuple[str, ...], lent: set[str], said: str) -> None:
    ours = page(text, *own)
    assert borrow(ours, "p", [LENDER]) == dict.fromkeys(lent, "lender")
    assert glue(ours).keys() == {"p.a", "p.b"}
    notes = [output.data["text/html"] for output in ours.cells[1].outputs if "text/html" in output.data]
    assert notes == ([f'<p class="dl-borrowed"><span>{said}</span><code>lender</code></p>'] if said else [])
    assert len(LENDER.executions["p"].notebook.cells[1].outputs) == 2


@pytest.mark.parametrize(("changed", "outcome"), [((), HELD), (("dlperf.timing",), HELD), (("cells",), NOT_RUN)])
def test_text_follows_another_machine_only_where_its_cells_can_lend(changed: tuple[str, ...], outcome: str) -> None:
    """Else the text would show what the page cannot borrow."""
    notebook = executed({"p.a": 2.0}, {"cpu": "x", "gpus": ["y"]})
    machines = [machine({"p.b": 1.0}), Machine("lender", {"p": Execution.of(notebook, changed)})]
    given = Outcome("p.fast", ("p.a",), lambda r: r["p.a"] > 1, needs=("cuda",))
    book = Book(ROOT)
    assert (
        Edition(book, book.languages[0], "m", machines, {"p.fast": given}, Catalogue(None)).outcome(given.id) == outcome
    )
