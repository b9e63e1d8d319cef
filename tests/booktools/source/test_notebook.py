"""What an execution depends on: exactly its cells, the modules it reaches, and their locked versions."""

from __future__ import annotations

import nbformat
import pytest

from booktools.executions import fingerprint as fingerprints
from booktools.executions.executions import load_execution
from booktools.executions.fingerprint import changes, fingerprint, imported, reached
from booktools.executions.prepare import prepare
from booktools.source import notebook
from booktools.source.book import Book, BookError
from booktools.source.notebook import is_executed, join, read_page
from booktools.source.page import source
from tests.conftest import edit


def mark(book: Book) -> dict[str, object]:
    return fingerprint(book, source(book, "tiny"))


def test_imports_of_every_form_are_found() -> None:
    source = "%matplotlib inline\nimport torch.nn as nn\nfrom dlperf import timing\nfrom dlperf.plot import figure\n"
    names = imported(source)
    assert {"torch.nn", "dlperf", "dlperf.timing", "dlperf.plot"} <= names


def test_modules_are_reached_through_others() -> None:
    modules, packages = reached({"dlperf.timing"})
    assert {"dlperf.timing", "dlperf.measurement", "dlperf.environment", "dlperf.device"} <= modules.keys()
    assert "dlperf.plot" not in modules
    assert "torch" in packages
    assert "os" not in packages


def test_importing_a_module_reaches_its_package() -> None:
    modules, _ = reached({"dlperf.asynchrony.engine.scheduler"})
    assert {
        "dlperf.asynchrony",
        "dlperf.asynchrony.engine",
        "dlperf.asynchrony.engine.scheduler",
        "dlperf.asynchrony.engine.arrays",
    } <= modules.keys()


def test_prose_is_not_in_the_fingerprint(tiny: Book) -> None:
    before = mark(tiny)
    edit(tiny.page("en", "tiny"), "Like this.", "Like that.")
    assert changes(before, mark(tiny)) == []


def test_cells_and_their_options_are(tiny: Book) -> None:
    before = mark(tiny)
    edit(tiny.page("en", "tiny"), "1 + 2", ":tags: [hide-input]\n\n1 + 2")
    assert changes(before, mark(tiny)) == ["cells"]


def test_a_comment_in_a_cell_is_not_and_the_cell_keeps_its_outputs(tiny: Book) -> None:
    before, ran = mark(tiny), read_page(tiny.page("en", "tiny"))
    first = notebook.code_cells(ran)[0]
    first.outputs, first.execution_count = [nbformat.v4.new_output("stream", text="kept\n")], 1
    edit(tiny.page("en", "tiny"), first.source, f"# only words\n{first.source}")
    assert changes(before, mark(tiny)) == []
    joined = notebook.code_cells(notebook.join(read_page(tiny.page("en", "tiny")), ran))[0]
    assert joined.source.startswith("# only words")
    assert joined.outputs == first.outputs


def test_only_locked_versions_that_the_page_reaches_are(tiny: Book) -> None:
    before = mark(tiny)
    edit(tiny.root / "requirements.txt", "Sphinx==", "Sphinx==99.")
    assert changes(before, mark(tiny)) == []
    edit(tiny.root / "requirements.txt", "matplotlib==", "matplotlib==99.")
    assert changes(before, mark(tiny)) == ["matplotlib"]


def test_only_modules_that_the_page_reaches_are(tiny: Book, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    copy = tmp_path / "dlperf"
    shutil.copytree(fingerprints.DLPERF, copy)
    monkeypatch.setattr(fingerprints, "DLPERF", copy)
    before = mark(tiny)
    (copy / "newcomer.py").write_text("x = 1\n")
    assert changes(before, mark(tiny)) == []
    (copy / "device.py").write_text((copy / "device.py").read_text() + "\n# only words\n")
    assert changes(before, mark(tiny)) == []
    (copy / "device.py").write_text((copy / "device.py").read_text() + "\nCHANGED = True\n")
    assert changes(before, mark(tiny)) == ["dlperf.device"]


def test_a_cell_that_is_not_python_is_named_by_line(tiny: Book) -> None:
    edit(tiny.page("en", "tiny"), "1 + 2", "1 +")
    text = tiny.page("en", "tiny").read_text().splitlines()
    with pytest.raises(BookError, match=rf"chapters/en/tiny\.md:{text.index('1 +') + 1}: this cell is not Python"):
        mark(tiny)


def test_a_new_machine_executes_anew(tiny: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    path, done = prepare(tiny, "tiny")
    assert not done
    executed = nbformat.read(path, as_version=4)
    for cell in executed.cells:
        if cell.cell_type == "code":
            cell.execution_count = 1
    nbformat.write(executed, path)
    assert prepare(tiny, "tiny")[1]
    monkeypatch.setattr("booktools.executions.prepare.machine", lambda: {"cpu": "another"})
    assert not prepare(tiny, "tiny")[1]


def test_an_error_or_a_cell_left_out_is_not_an_execution(tiny: Book) -> None:
    page = read_page(tiny.page("en", "tiny"))
    assert not is_executed(page)
    for cell in notebook.code_cells(page):
        cell.execution_count = 1
    assert is_executed(page)
    notebook.code_cells(page)[0].outputs = [nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])]
    assert not is_executed(page)


def test_outputs_go_to_the_cells_they_came_from(tiny: Book) -> None:
    page, twin = (read_page(tiny.page("en", "tiny")) for _ in range(2))
    first, last = notebook.code_cells(twin)
    last.outputs = [nbformat.v4.new_output("stream", text="3")]
    first.source += " # edited since"
    joined = notebook.code_cells(join(page, twin))
    assert joined[0].outputs == []
    assert joined[1].outputs == last.outputs


def test_a_line_that_the_kernel_sent_in_pieces_is_one_line(tiny: Book) -> None:
    printed = "each predicted 0.81 s\neach step 1.00 s\n"
    page, twin = (read_page(tiny.page("en", "tiny")) for _ in range(2))
    shown = nbformat.v4.new_output("display_data", {"text/plain": "a figure"})
    warned = nbformat.v4.new_output("stream", name="stderr", text="a warning\n")
    for end in range(1, len(printed)):
        sent = [nbformat.v4.new_output("stream", text=text) for text in (printed[:end], printed[end:])]
        notebook.code_cells(twin)[0].outputs = [sent[0], shown, warned, sent[1]]
        for _ in range(2):  # as often as it is read: what was executed stays as it was
            text, *rest = notebook.code_cells(join(page, twin))[0].outputs
            assert (text.text, rest) == (printed, [shown, warned])


def test_what_a_cell_recorded_that_has_changed_since_stays_readable(tiny: Book) -> None:
    page, twin = (read_page(tiny.page("en", "tiny")) for _ in range(2))
    first, last = notebook.code_cells(twin)
    shown = nbformat.v4.new_output("stream", text="3")
    kept = nbformat.v4.new_output("display_data", {}, metadata={"scrapbook": {"name": "tiny.sum"}})
    first.outputs, last.outputs, first.source = [shown, kept], [shown], "1 + 1"
    joined = notebook.code_cells(join(page, twin))
    assert [cell.outputs for cell in joined] == [[kept], [shown]]


def test_a_record_that_is_no_notebook_is_named(tiny: Book) -> None:
    path = tiny.records / "m" / "tiny.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(BookError, match=r"records/m/tiny\.ipynb: this record is corrupt"):
        load_execution(tiny, path, "tiny")
