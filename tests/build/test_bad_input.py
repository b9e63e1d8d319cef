"""What bad input gets: a message that names file and line or key, at once, and the last site untouched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from booktools.executions.execute import check_compiler
from booktools.source.book import Book, BookError
from booktools.source.keys import stored
from tests.build.conftest import Here
from tests.conftest import build, edit, edit_both

FOLDED = ":tags: [hide-input]\n\n"
"""The head of a cell that records."""


@pytest.fixture
def book(copy: Book) -> Book:
    """A copy of the built book with a record, free to spoil."""
    (copy.records / "named").mkdir(parents=True)
    shutil.copy(copy.notebooks / "tiny.ipynb", copy.records / "named")
    return copy


def site(book: Book) -> dict[str, bytes]:
    """Returns every file of the published site."""
    html = book.build / "html"
    return {str(p.relative_to(html)): p.read_bytes() for p in html.rglob("*") if p.is_file()}


def cell_raises(book: Book) -> None:
    edit_both(book, "tiny", "1 + 2", "1 / 0")


def cell_runs_too_long(book: Book) -> None:
    edit(book.root / "_config.yml", "timeout: 300", "timeout: 2")
    edit_both(book, "tiny", "1 + 2", "import time; time.sleep(60)")


def cell_is_not_python(book: Book) -> None:
    edit_both(book, "tiny", "1 + 2", "1 +")


def page_is_missing_in_one_language(book: Book) -> None:
    book.page("zh", "tiny").unlink()


def page_of_the_toc_does_not_exist(book: Book) -> None:
    edit(book.root / "_toc.yml", "- file: tiny", "- file: tinny")


def cells_differ(book: Book) -> None:
    edit(book.page("zh", "tiny"), "1 + 2", "1 + 4")


def glue_key_is_unknown(book: Book) -> None:
    edit_both(book, "tiny", "{glue:text}`tiny.sum.iqr`", "{glue:text}`tiny.sun`")


def machines_key_is_unknown(book: Book) -> None:
    edit_both(book, "tiny", "{machines} tiny.sum", "{machines} tiny.sun")


def key_in_a_table_is_unknown(book: Book) -> None:
    edit_both(book, "tiny", "{here}`tiny.sum`", "{here}`tiny.sun`")


def claim_is_unknown(book: Book) -> None:
    edit_both(book, "tiny", "{claim} tiny.positive", "{claim} tiny.negative")


def claim_raises(book: Book) -> None:
    edit(book.chapters / "claims" / "tiny.py", 'r["tiny.sum"].median', 'r["tiny.sum"].medium')


def key_is_recorded_twice(book: Book) -> None:
    edit_both(book, "tiny", "1 + 2", f"{FOLDED}record('tiny.size', 1 + 2)")


def record_has_a_key_twice(book: Book) -> None:
    path = book.records / "named" / "tiny.ipynb"
    notebook = nbformat.read(path, as_version=4)
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    cell.outputs = [*cell.outputs, next(o for o in cell.outputs if stored(o) == "tiny.size")]
    nbformat.write(notebook, path)


def number_is_naked(book: Book) -> None:
    edit(book.page("en", "tiny"), "Like this.", "It is 3.5 times faster.")


def record_is_cut_off(book: Book) -> None:
    path = book.records / "named" / "tiny.ipynb"
    path.write_bytes(path.read_bytes()[:1000])


def record_is_corrupt(book: Book) -> None:
    edit(book.records / "named" / "tiny.ipynb", '"samples": [', '"simples": [')


BAD = (
    (cell_runs_too_long, r"chapters/en/tiny\.md:\d+: this cell ran past its limit of 2 s"),
    (cell_is_not_python, r"chapters/en/tiny\.md:\d+: this cell is not Python"),
    (page_is_missing_in_one_language, r"_toc\.yml: lists 'tiny', but chapters/zh/tiny\.md does not exist"),
    (page_of_the_toc_does_not_exist, r"_toc\.yml: lists 'tinny', but chapters/en/tinny\.md does not exist"),
    (cells_differ, r"chapters/zh/tiny\.md:\d+: cell 2 differs from chapters/en/tiny\.md:\d+"),
    (glue_key_is_unknown, r"chapters/en/tiny\.md:\d+: .*'tiny\.sun'"),
    (machines_key_is_unknown, r"chapters/en/tiny\.md:\d+: .*no machine has a record 'tiny\.sun'"),
    (key_in_a_table_is_unknown, r"chapters/en/tiny\.md:\d+: .*no machine has a record 'tiny\.sun'"),
    (claim_is_unknown, r"chapters/en/tiny\.md:\d+: .*there is no claim 'tiny\.negative'"),
    (
        claim_raises,
        r"\nchapters/claims/tiny\.py:6: the claim 'tiny\.positive' raised AttributeError on the machine "
        r"'named', where 'tiny\.sum' is .*: 'Measurement' object has no attribute 'medium'\n$",
    ),
    (key_is_recorded_twice, r"chapters/en/tiny\.md:\d+: records 'tiny\.size', which chapters/en/tiny\.md:\d+ has"),
    (record_has_a_key_twice, r"(chapters/en/tiny\.md:\d+): records 'tiny\.size', which \1 has .*records/named"),
    (number_is_naked, r"chapters/en/tiny\.md:\d+: naked number '3\.5 times'"),
    (record_is_cut_off, r"records/named/tiny\.ipynb: this record is corrupt or cut off"),
    (record_is_corrupt, r"records/named/tiny\.ipynb: .*'tiny\.sum' is corrupt"),
)


@pytest.mark.parametrize(("spoil", "message"), BAD, ids=[spoil.__name__ for spoil, _ in BAD])
def test_bad_input(book: Book, build_here: Here, spoil: Callable[[Book], None], message: str) -> None:
    before = site(book)
    spoil(book)
    done = build_here(book)
    assert done.returncode == 1, done.stdout
    assert re.search(message, done.stdout), done.stdout
    assert site(book) == before


def test_bad_input_ends_the_command_with_its_message_and_no_traceback_of_tools(book: Book) -> None:
    before = site(book)
    number_is_naked(book)
    done = build(book)
    assert done.returncode == 1, done.stdout
    assert re.search(r"chapters/en/tiny\.md:\d+: naked number '3\.5 times'", done.stdout), done.stdout
    assert "The book was not built; the site that was there is untouched." in done.stdout
    assert "jupyter_book/cli" not in done.stdout
    assert site(book) == before


def label_is_not_translated(book: Book) -> None:
    edit(book.chapters / "labels.zh.po", 'msgid "number of threads"', 'msgid "number of sheep"')


def machines_has_more_rows_than_keys(book: Book) -> None:
    edit_both(book, "tiny", ":rows: ", ":rows: more | ")


def claim_reads_an_unknown_key(book: Book) -> None:
    edit(book.chapters / "claims" / "tiny.py", '("tiny.sum",)', '("tiny.sun",)')


FOUND_BY_SPHINX = (
    (label_is_not_translated, r"chapters/zh/tiny\.md:\d+: .*labels\.zh\.po has no translation of 'number of threads'"),
    (machines_has_more_rows_than_keys, r"chapters/en/tiny\.md:\d+: .*\{machines\}: 3 rows for 2 keys"),
    (claim_reads_an_unknown_key, r"chapters/en/tiny\.md:\d+: .*tiny\.positive: no machine has a record 'tiny\.sun'"),
)
"""What is seen only while a language is built, which tells all of it at once."""


def test_what_is_found_while_a_language_is_built_is_not_forgotten_by_the_next_run(book: Book, build_here: Here) -> None:
    before = site(book)
    for spoil, _ in FOUND_BY_SPHINX:
        spoil(book)
    for _ in range(2):
        done = build_here(book)
        assert done.returncode == 1, done.stdout
        for _, message in FOUND_BY_SPHINX:
            assert re.search(message, done.stdout), done.stdout
        assert "executing" not in done.stdout
        assert "English and 中文 could not be built: see above" in done.stdout
        assert "Traceback" not in done.stdout
        assert site(book) == before


def test_a_cell_that_raises_is_named_by_the_line_that_raised(copy: Book, build_here: Here) -> None:
    """Not by its first line, and not by one of a module or of another cell: by the innermost line of its own."""
    edit_both(copy, "tiny", "with Benchmark", "def fails():\n    return 1 / 0\n\n\nwith Benchmark")
    code = "import statistics\n\n\ndef inner():\n    return statistics.mean(map(abs, ['one']))\n\n\ninner()"
    edit_both(copy, "tiny", "1 + 2", f"{FOLDED}{code}")
    lines = copy.page("en", "tiny").read_text(encoding="utf-8").splitlines()
    done = build_here(copy)
    assert done.returncode == 1
    line = next(number for number, text in enumerate(lines, 1) if "statistics.mean" in text)
    assert f"chapters/en/tiny.md:{line}: this cell raised TypeError" in done.stdout
    edit_both(copy, "tiny", "\ninner()", "\nfails()")
    line = next(number for number, text in enumerate(lines, 1) if text == "inner()")
    assert f"chapters/en/tiny.md:{line}: this cell raised ZeroDivisionError" in build_here(copy).stdout


def test_a_machine_without_a_compiler(book: Book, build_here: Here, tmp_path: Path) -> None:
    cell_raises(book)  # Something to execute; the compiler is looked for first.
    done = build_here(book, PATH=str(tmp_path), CXX="")
    assert done.returncode == 1
    assert "no C++ compiler was found" in done.stdout
    assert "ZeroDivisionError" not in done.stdout


def test_a_python_without_its_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check_compiler()
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(BookError, match=r"Python\.h is not there, which torch\.compile needs: .*python3-dev"):
        check_compiler()


def test_build_folder_that_is_a_file(tiny: Book, build_here: Here) -> None:
    tiny.build.write_text("in the way")
    done = build_here(tiny)
    assert done.returncode == 1
    assert str(tiny.build) in done.stdout


def in_mounted_build(book: Book, options: str) -> subprocess.CompletedProcess[str]:
    """Builds the book with `_build` on a file system of its own, in a namespace that ends with the build."""
    script = f"mkdir -p _build && mount -t tmpfs -o {options} none _build && {sys.executable} -m booktools build"
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
        cwd=book.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "MACHINE": ""},
    )  # fmt: skip


def test_build_folder_that_is_full(tiny: Book) -> None:
    done = in_mounted_build(tiny, "size=1m")
    assert done.returncode != 0
    assert re.search(r"_build: only \d+ MiB are free, a build needs about \d+ MiB more", done.stdout), done.stdout


def test_build_folder_that_is_read_only(tiny: Book) -> None:
    done = in_mounted_build(tiny, "ro,size=1m")
    assert done.returncode != 0
    assert "_build: cannot be written (Read-only file system)" in done.stdout, done.stdout
