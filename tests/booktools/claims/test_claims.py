"""Claims: verdicts by hand-made machines, and every claim of the book on every committed record."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest

from booktools.claims.claims import FAILED, HELD, NOT_RUN, STALE, Claim, all_claims, judge
from booktools.executions.executions import Execution
from booktools.executions.records import Machine, page_of, recorded_machines
from booktools.source.book import Book, BookError
from booktools.source.keys import check_keys
from booktools.source.notebook import read_records
from booktools.source.page import pages_with_cells
from dlperf.measurement import Measurement
from dlperf.records import PREFIX, bundle
from tests.conftest import ROOT

BOOK = Book(ROOT)


def executed(records: dict[str, Any], environment: dict[str, Any]) -> nbformat.NotebookNode:
    """Returns a notebook whose one cell recorded these values."""
    outputs = []
    for key, value in records.items():
        for name, data in bundle(key, value).items():
            prefixed = {PREFIX + mime: content for mime, content in data.items()}
            meta = {"scrapbook": {"name": name, "mime_prefix": PREFIX}}
            outputs.append(nbformat.v4.new_output("display_data", data=prefixed, metadata=meta))
    cell = nbformat.v4.new_code_cell("…", outputs=outputs, execution_count=1)
    return nbformat.v4.new_notebook(cells=[cell], metadata={"dlperf": {"environment": environment}})


def machine(records: dict[str, Any], stale: tuple[str, ...] = (), **environment: Any) -> Machine:
    notebook = executed(records, {"cpu": "x", "cores": 2, "gpus": [], **environment})
    return Machine("m", {"p": Execution.of(notebook, stale)})


FASTER = Claim("p.faster", ("p.a", "p.b"), lambda r: r["p.a"].median < r["p.b"])


def test_records_travel_through_a_notebook() -> None:
    m = Measurement((1.0, 2.0, 4.0), "s", "words")
    notebook = executed({"p.a": m, "p.b": 3}, {"cpu": "x"})
    found = read_records(notebook, "p.ipynb")
    assert found["p.a"]["value"] == m
    assert found["p.b"]["value"] == 3
    assert set(found) == {"p.a", "p.b"}


@pytest.mark.parametrize(("limit", "outcome"), [(3.0, HELD), (1.0, FAILED)])
def test_a_claim_is_what_its_predicate_says(limit: float, outcome: str) -> None:
    assert judge(FASTER, machine({"p.a": Measurement((2.0,)), "p.b": limit})).outcome == outcome


def test_a_stale_record_proves_nothing() -> None:
    verdict = judge(FASTER, machine({"p.a": Measurement((2.0,)), "p.b": 3.0}, stale=("dlperf.timing",)))
    assert verdict.outcome == STALE
    assert verdict.lacking == ("dlperf.timing",)


def test_without_the_hardware_or_the_record_nothing_is_said() -> None:
    needy = Claim("p.gpu", ("p.a",), lambda r: True, needs=("cuda", "devices>=2"))
    assert judge(needy, machine({})).lacking == ("cuda", "devices>=2")
    assert judge(needy, machine({"p.a": 1.0}, gpus=["one", "two"])).outcome == HELD
    apple = machine({"p.a": 1.0}, gpus=["Apple M5"], accelerator="mps")
    assert judge(needy, apple).lacking == ("cuda", "devices>=2")
    assert judge(FASTER, machine({"p.b": 1.0})).lacking == ("p.a",)
    assert judge(FASTER, machine({})).lacking == ("p",)  # the page was not run there
    assert judge(FASTER, machine({"p.b": 1.0})).outcome == NOT_RUN


def test_an_unknown_need_is_refused() -> None:
    with pytest.raises(BookError, match="'quantum'"):
        machine({}).has("quantum")


def claim_of(folder: Path, predicate: str) -> Claim:
    """Returns the claim of a file such as the book has, with this predicate."""
    path = folder / "chapters" / "claims" / "p.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        f"from booktools.claims.claims import Claim\n\n\nCLAIMS = (Claim('p.faster', ('p.a', 'p.b'), {predicate}),)\n",
        encoding="utf-8",
    )
    (claim,) = all_claims(Book(folder)).values()
    return claim


@pytest.mark.parametrize(
    ("predicate", "what"),
    [
        ("lambda r: r['p.a'].median < r['p.b']", r"TypeError on the machine 'm', where 'p\.b' is ∞: '<' not supported"),
        (
            "lambda r: r['p.c'] > 1",
            r"KeyError on the machine 'm': it reads 'p\.c', which is none of its keys: p\.a, p\.b$",
        ),
        ("lambda r: 1 / 0", r"ZeroDivisionError on the machine 'm': division by zero$"),
        ("lambda r: r['p.a'].medium", r"AttributeError on the machine 'm', where 'p\.a' is 2\.00 s: "),
    ],
)
def test_a_predicate_that_raises_is_one_line(tmp_path: Path, predicate: str, what: str) -> None:
    """It names the file and line of the claim, the claim, the machine, and the record that was read last."""
    with pytest.raises(BookError, match=rf"^chapters/claims/p\.py:4: the claim 'p\.faster' raised {what}") as raised:
        judge(claim_of(tmp_path, predicate), machine({"p.a": Measurement((2.0,)), "p.b": "∞"}))
    assert "\n" not in str(raised.value)


def recorded_in(cells: list[str]) -> tuple[str, nbformat.NotebookNode]:
    """Returns a page of cells that each record what its source says, and its execution."""
    text = "---\nkernelspec:\n  name: python3\n---\n" + "".join(
        f"\n```{{code-cell}} ipython3\n{source}\n```\n" for source in cells
    )
    done = nbformat.v4.new_notebook()
    for source in cells:
        keys = re.findall(r'"([^"]+)"', source)
        outputs = [output for key in keys for output in executed({key: 1.5}, {}).cells[0].outputs]
        done.cells.append(nbformat.v4.new_code_cell(source, outputs=outputs, execution_count=1))
    return text, done


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (['record("p.a", 1)', 'record("p.a", 2)'], r"p\.md:11: records 'p\.a', which .*p\.md:7 has recorded already"),
        (['record("p.a", 1); record("p.a", 2)'], r"p\.md:7: records 'p\.a', which .*p\.md:7 has recorded already"),
        (['record("p.a", 1)', 'record("p.a.percent", 2)'], r"p\.md:11: records 'p\.a\.percent', which .*p\.md:7 "),
    ],
)
def test_a_key_recorded_twice_is_an_error_that_names_both_cells(tiny: Book, cells: list[str], message: str) -> None:
    text, done = recorded_in(cells)
    tiny.page("en", "p").write_text(text, encoding="utf-8")
    with pytest.raises(BookError, match=message):
        check_keys(tiny, "p", done, tiny.notebooks / "p.ipynb")


def test_a_key_recorded_twice_before_the_cells_changed(tiny: Book) -> None:
    """Of a stale record, a cell that is no longer on the page is named by its number."""
    _, done = recorded_in(['record("p.a", 1)', 'record("p.a", 2)'])
    tiny.page("en", "p").write_text(recorded_in(['record("p.a", 2)'])[0], encoding="utf-8")
    with pytest.raises(BookError, match=r"p\.md:7: records 'p\.a', which chapters/en/p\.md \(cell 1, since changed\)"):
        check_keys(tiny, "p", done, tiny.notebooks / "p.ipynb")


def test_keys_recorded_once_are_fine(tiny: Book) -> None:
    check_keys(tiny, "p", recorded_in(['record("p.a", 1)', 'record("p.b", 2)', "1 + 2"])[1], tiny.notebooks / "p.ipynb")


def test_there_is_a_record_for_every_chapter() -> None:
    assert machines()
    pages = set(pages_with_cells(BOOK))
    executed = {recorded.name: set(recorded.executions) for recorded in machines().values()}
    assert set().union(*executed.values()) == pages  # a machine out of reach need not know a page that came later


def test_records_name_no_file_of_their_machine() -> None:
    paths = list(BOOK.records.rglob("*.ipynb"))
    assert paths
    for path in paths:
        outputs = [output for cell in nbformat.read(path, as_version=4).cells for output in cell.get("outputs", [])]
        assert outputs
        assert "stderr" not in {output.get("name") for output in outputs}, path


CASES = [(claim, folder.name) for claim in all_claims(BOOK).values() for folder in sorted(BOOK.records.glob("*/"))]
"""Each claim with the name of each machine; whoever needs the records of one asks `machines`."""


@cache
def machines() -> dict[str, Machine]:
    """Returns every recorded machine by its name, read once: that takes seconds."""
    return {recorded.name: recorded for recorded in recorded_machines(BOOK)}


def why_stale(claim: Claim, recorded: Machine) -> str:
    """Returns why a machine's record says nothing of a claim: what has changed since; empty where it is current."""
    pages = sorted({page_of(name) for name in (claim.id, *claim.keys)})
    if missing := [page for page in pages if page not in recorded.executions]:
        return f"{recorded.name} has no record of {', '.join(missing)}"
    if changed := sorted({name for page in pages for name in recorded.executions[page].stale}):
        return f"{recorded.name} recorded {', '.join(pages)} before this changed: {', '.join(changed)}"
    return ""


def skip_if_stale(claim: Claim, recorded: Machine) -> None:
    """Skips a test of a record that proves nothing: a machine may be out of reach when code changes."""
    if why := why_stale(claim, recorded):
        pytest.skip(why)


@pytest.mark.parametrize("page", pages_with_cells(BOOK))
def test_some_machine_is_current_for_every_page(page: str) -> None:
    """Else each of its claims is skipped, and nothing holds the page to what it says."""
    whole = Claim(page, (), lambda records: True)
    for claim in (whole, *(claim for claim in all_claims(BOOK).values() if page_of(claim.id) == page)):
        why = [why_stale(claim, recorded) for recorded in machines().values()]
        assert not all(why), (
            f"no machine's record of {claim.id} is current: {'; '.join(why)}. "
            f"`make record MACHINE=name`, on one of these machines, executes the page {page!r} anew and keeps it."
        )


def test_a_stale_record_is_skipped_with_the_name_of_what_changed() -> None:
    stale = machine({"p.a": Measurement((2.0,)), "p.b": 3.0}, stale=("dlperf.timing",))
    assert why_stale(FASTER, stale) == "m recorded p before this changed: dlperf.timing"
    assert why_stale(FASTER, Machine("m", {})) == "m has no record of p"
    assert why_stale(FASTER, machine({"p.a": Measurement((2.0,)), "p.b": 3.0})) == ""
    with pytest.raises(pytest.skip.Exception, match=r"dlperf\.timing"):
        skip_if_stale(FASTER, stale)


@pytest.mark.parametrize(("claim", "name"), CASES, ids=[f"{claim.id}@{name}" for claim, name in CASES])
def test_claims_are_judged_on_committed_records(claim: Claim, name: str) -> None:
    """A claim may fail: its page has a text for that. One that is known to fail, or not to run, really does so."""
    recorded = machines()[name]
    skip_if_stale(claim, recorded)
    verdict = judge(claim, recorded)
    lacking_hardware = [need for need in claim.needs if not recorded.has(need)]
    if lacking_hardware:
        assert verdict.outcome == NOT_RUN
    elif recorded.name in claim.fails_on:
        assert verdict.outcome in (FAILED, NOT_RUN)
    else:
        assert verdict.outcome in (HELD, FAILED), f"{verdict.outcome}: {', '.join(verdict.lacking)}"
