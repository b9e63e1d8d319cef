"""A kit executes the chapters on a machine without the book's environment; what it brings home is taken in whole."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import nbformat
import psutil
import pytest

from booktools.commands import kit_piece, kit_run
from booktools.commands.kit import IDLE, KERNEL, RUN_BY_IT, THEIRS, make_kit, named, needs, over
from booktools.commands.recording import take_in
from booktools.executions import canary
from booktools.executions.fingerprint import fingerprint
from booktools.source.book import Book, BookError
from booktools.source.kernel import KEY
from booktools.source.notebook import code_cells
from booktools.source.page import pages_with_cells, source
from tests.build.conftest import Shared, copy_of
from tests.conftest import ROOT, copy_tiny_book, edit

HERE = ".".join(platform.python_version_tuple()[:2])
TIMEOUT_S = 600
"""Seconds after which a run is taken to hang."""
CELL = "```{{code-cell}} ipython3\n{}\n```\n\n"


def add_page(book: Book, name: str, *cells: str) -> None:
    """Adds a page with these cells, of which the tiny book knows in one language."""
    text = book.page("en", "tiny").read_text(encoding="utf-8").partition("(tiny)=")[0]
    book.page("en", name).write_text(text + f"# {name}\n\n" + "".join(map(CELL.format, cells)), encoding="utf-8")
    edit(book.root / "_toc.yml", "  - file: machines", f"  - file: {name}\n  - file: machines")


MOVED = """
import os, runpy, sys
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.join(os.path.dirname(sys.argv[0]), "code"))
from booktools.executions import canary
from booktools.commands.kit_piece import Piece
left, songs = ([float(each) for each in os.environ[name].split()] for name in ("LEFT", "SONGS"))
if left:
    Piece.left = lambda self: left.pop(0) if len(left) > 1 else left[0]
canary.ask = lambda timeout: {"step": songs.pop(0) if songs else 0.001}
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a kit's script with clocks that a test moves: the seconds that are left, each time that the piece asks, and
those that the canary says."""


def run(
    book: Book, *arguments: str, left: str = "", songs: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs the script of a kit as the bare machine does: from anywhere, without the book's packages on its path.

    ``left`` are the seconds that the piece has left before each cell, and after one that has run past its limit;
    ``songs`` what the canary says of a step, in seconds, a millisecond from then on.
    """
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-P", "-c", MOVED, str(book.root / "kit" / "run.py"), *arguments],
        cwd=book.root.parent,
        env={**clean, **environment, "LEFT": left, "SONGS": songs},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def kept(book: Book, page: str) -> dict[str, object]:
    """Returns what a kit's run says of a page in its notebook."""
    return nbformat.read(book.root / "kit" / "done" / f"{page}.ipynb", as_version=4).metadata[KEY]["run"]


NAMING = "import os, tempfile, time\nprint(tempfile.gettempdir())"
"""A cell that prints a name of its machine."""


@pytest.fixture(scope="session")
def executed(shared: Shared) -> Book:
    """The tiny book with a second page, executed by its kit in pieces: the second page's cell was cut off first.

    What the pieces said is kept in files beside the book: ``first``, ``the same again``, ``last``.
    """

    def make(folder: Path) -> None:
        book = copy_tiny_book(folder / "book")
        add_page(book, "slow", NAMING, "time.sleep(0 if 'QUICK' in os.environ else 3600)", "last = 1")
        make_kit(book, HERE, wheels=False)
        first = run(book, "--minutes", "0.2", "--only", "slow", left="1000 1")
        assert first.returncode == 3, first.stdout
        assert kept(book, "slow")["of"] == 0.2
        again = run(book, "--minutes", "0.2", "--only", "slow")
        assert again.returncode == 3, again.stdout
        last = run(book, "--minutes", "0.2", "--again", QUICK="1", left="1000", songs="0.001 0.002 0.001 0.001")
        assert last.returncode == 0, last.stdout
        for name, done in (("first", first), ("the same again", again), ("last", last)):
            (folder / name).write_text(done.stdout, encoding="utf-8")

    return Book(shared("kit", make) / "book")


def said(book: Book, piece: str) -> str:
    """Returns what the script said in a piece of `executed`."""
    return (book.root.parent / piece).read_text(encoding="utf-8")


def test_a_page_that_was_cut_off_is_executed_by_the_next_piece(executed: Book) -> None:
    assert "slow: cut off after 2 of 3 cells" in said(executed, "first")
    assert "tiny: done after 2 of 2 cells" in said(executed, "last")
    assert "slow: done after 3 of 3 cells" in said(executed, "last")


def test_a_chapter_longer_than_a_piece_is_told_kindly(executed: Book) -> None:
    """It is not tried again, unless it is asked for."""
    again = said(executed, "the same again")
    assert "slow: a whole piece of 0.2 minutes ended in its cell 2 of 3." in again
    assert "only a longer one (--minutes), shorter cells or," in again
    assert "slow: done" in said(executed, "last"), "--again executes it"


def test_the_canary_is_asked_around_each_page_and_the_record_keeps_it(
    executed: Book, copy: Book, capsys: pytest.CaptureFixture[str]
) -> None:
    done = {path.stem: nbformat.read(path, as_version=4) for path in (copy.root / "kit" / "done").glob("*.ipynb")}
    songs = {page: notebook.metadata[KEY][canary.KEY] for page, notebook in done.items()}
    assert sorted(song["after"]["step"] for song in songs.values()) == [0.001, 0.002]
    (restless,) = (page for page, song in songs.items() if song["after"]["step"] == 0.002)
    why = "step took 1000 µs before and 2000 µs after"
    assert f"{restless}: the machine was not itself: {why}" in said(executed, "last")
    take_in(copy, "bare", copy.root / "kit" / "done")
    assert f"the machine was not itself, which the record tells:\n{restless}: {why}" in capsys.readouterr().out
    for page, song in songs.items():
        recorded = nbformat.read(copy.records / "bare" / f"{page}.ipynb", as_version=4)
        assert recorded.metadata[KEY][canary.KEY] == song
        assert song.keys() == {"before", "after", "stolen"}


def test_a_canary_that_fails_stops_nothing() -> None:
    lines: list[str] = []

    def fails() -> None:
        raise canary.CanaryError("the canary failed: no torch")

    assert kit_piece.Piece._canary(cast(Any, SimpleNamespace(log=lines.append)), fails) is None
    assert lines == ["  the canary failed: no torch"]


def test_names_of_the_machine_are_replaced_where_the_kit_runs(executed: Book) -> None:
    notebook = nbformat.read(executed.root / "kit" / "done" / "slow.ipynb", as_version=4)
    assert [output.text for output in code_cells(notebook)[0].outputs] == ["tmp\n"]


def test_the_script_of_a_kit_needs_the_standard_library_alone(executed: Book) -> None:
    """What chapters and kernels need is imported once the kit's wheels are unpacked."""
    modules = [name.removesuffix(".py").replace("/", ".") for name in RUN_BY_IT if not name.endswith("__init__.py")]
    code = f"import sys; sys.path.insert(0, {str(executed.root / 'kit' / 'code')!r})\n"
    code += "\n".join(f"import booktools.{name}" for name in modules)
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def copy(executed: Book, tmp_path: Path) -> Book:
    """A copy of the executed book, free to change."""
    return copy_of(executed, tmp_path)


def refused(book: Book, *expected: str) -> None:
    """Asserts that nothing is taken in, for these reasons."""
    before = sorted(book.records.rglob("*")) if book.records.exists() else []
    with pytest.raises(BookError) as caught:
        take_in(book, "bare", book.root / "kit" / "done")
    for text in (*expected, "Nothing was taken in: records/bare is as it was."):
        assert text in str(caught.value)
    assert (sorted(book.records.rglob("*")) if book.records.exists() else []) == before


def test_what_a_kit_executed_becomes_a_record(copy: Book, capsys: pytest.CaptureFixture[str]) -> None:
    take_in(copy, "bare", copy.root / "kit" / "done")
    assert "records/bare: 2 page(s) recorded" in capsys.readouterr().out
    assert {path.name for path in (copy.records / "bare").iterdir()} == {"tiny.ipynb", "slow.ipynb"}
    notebook = nbformat.read(copy.records / "bare" / "tiny.ipynb", as_version=4)
    assert notebook.metadata[KEY]["environment"]["cores"]
    assert notebook.metadata["language_info"]["pygments_lexer"] == "ipython3"  # else no cell is coloured, with warnings
    assert "stderr" not in {output.get("name") for cell in code_cells(notebook) for output in cell.outputs}
    take_in(copy, "bare", copy.root / "kit" / "done")  # in the place of the earlier one
    assert not list(copy.root.glob(".record-*"))


def test_what_is_done_is_not_executed_again(copy: Book) -> None:
    done = copy.root / "kit" / "done"
    before = {path: path.stat().st_mtime_ns for path in done.glob("*.ipynb")}
    again = run(copy)
    assert again.returncode == 0
    assert again.stdout.count("done in an earlier piece; not executed again") == 2
    done.rename(copy.root / "handed back")
    again = run(copy, "--out", str(copy.root / "new"), "--resume", str(copy.root / "handed back"))
    assert again.returncode == 0
    assert [path.name for path in (copy.root / "new").iterdir()] == ["log.txt"]
    assert {path.stat().st_mtime_ns for path in (copy.root / "handed back").glob("*.ipynb")} == set(before.values())


def test_a_missing_chapter_is_named(copy: Book) -> None:
    done = copy.root / "kit" / "done"
    (done / "slow.ipynb").unlink()
    refused(copy, f"{done}/slow.ipynb: no such file: a record has every chapter with cells")


def test_what_is_no_notebook_is_named(copy: Book) -> None:
    (copy.root / "kit" / "done" / "slow.ipynb").write_text("{")
    (copy.root / "kit" / "done" / "tiny.ipynb").write_text('{"nbformat": 4, "nbformat_minor": 5, "cells": []}')
    refused(copy, "slow.ipynb: no notebook of a kit", "tiny.ipynb: no notebook of a kit")


def test_a_changed_chapter_is_named(copy: Book) -> None:
    edit(copy.page("en", "slow"), "last = 1", "last = 2")
    refused(copy, "slow.ipynb: changed here since it was executed: cells; make kit")


@pytest.mark.parametrize(("count", "text"), [(None, "this cell never ran"), (2, "this cell raised E: broken")])
def test_a_cell_that_did_not_run_or_raised_is_named(copy: Book, count: int | None, text: str) -> None:
    path = copy.root / "kit" / "done" / "slow.ipynb"
    notebook = nbformat.read(path, as_version=4)
    cell = code_cells(notebook)[1]
    cell.execution_count = count
    cell.outputs = [nbformat.v4.new_output("error", ename="E", evalue="broken")] if count else []
    nbformat.write(notebook, path)
    line = copy.page("en", "slow").read_text().splitlines().index("time.sleep(0 if 'QUICK' in os.environ else 3600)")
    refused(copy, f"slow.ipynb: slow.md:{line + 1}: {text}")


def test_chapters_of_two_machines_make_no_record(copy: Book) -> None:
    path = copy.root / "kit" / "done" / "slow.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata[KEY]["machine"]["cpu"] = "Another"
    nbformat.write(notebook, path)
    refused(copy, "executed on several machines: tiny on ", "; slow on ", " × Another")


def test_what_nobody_measured_is_named_and_what_a_record_has_is_borrowed(
    copy: Book, capsys: pytest.CaptureFixture[str]
) -> None:
    done = copy.root / "kit" / "done"
    take_in(copy, "whole", done)
    notebook = nbformat.read(done / "tiny.ipynb", as_version=4)
    for cell in code_cells(notebook):
        cell.outputs = [
            out for out in cell.outputs if out.get("metadata", {}).get("scrapbook", {}).get("name") != "tiny.figure"
        ]
    nbformat.write(notebook, done / "tiny.ipynb")
    capsys.readouterr()
    take_in(copy, "bare", done)
    assert "tiny: not measured there, borrowed from whole: tiny.figure" in capsys.readouterr().out
    shutil.rmtree(copy.records / "whole")
    shutil.rmtree(copy.records / "bare")
    refused(copy, "tiny: shown, and measured neither there nor on a recorded machine: tiny.figure")


def test_a_machine_s_name_is_plain(copy: Book) -> None:
    with pytest.raises(BookError, match="MACHINE='My GPU'"):
        take_in(copy, "My GPU", copy.root / "kit" / "done")


ODD = {
    "late": ("import time\ntime.sleep(3600)", "1 / 0"),
    "broken": ("1 / 0", "import os\nos.getpid()", "undefined"),
    "silent": ("get_ipython().showtraceback = lambda *_, **__: None", "1 / 0"),
    "brought": ("import strange_beast\nassert strange_beast.here",),
}
"""Pages of which each has something that a run has to cope with, by name, with their cells."""


@pytest.fixture(scope="session")
def odd(shared: Shared) -> Book:
    """The tiny book with the pages of `ODD`, executed in one piece; beside it, what that ``said``, and its status."""

    def make(folder: Path) -> None:
        book = copy_tiny_book(folder / "book")
        for name, cells in ODD.items():
            add_page(book, name, *cells)
        wheel(make_kit(book, HERE, wheels=False), "strange_beast-1.0-py3-none-any")
        done = run(book, "--only", *ODD, left="1 1000")  # a second for the first cell, and enough from then on
        (folder / "said").write_text(f"{done.stdout}\nstatus {done.returncode}\n", encoding="utf-8")

    return Book(shared("odd", make) / "book")


def test_after_a_cell_that_raised_the_others_are_executed(odd: Book, tmp_path: Path) -> None:
    """So that a machine that is lent for half an hour tells all that is wrong at once."""
    assert "status 3" in said(odd, "said")
    assert "broken.md:13: cell 1 of 3: ZeroDivisionError: division by zero" in said(odd, "said")
    assert "cell 3 of 3: NameError: name 'undefined' is not defined" in said(odd, "said")
    book = copy_of(odd, tmp_path)
    assert kept(book, "broken")["state"] == "failed"
    notebook = nbformat.read(book.root / "kit" / "done" / "broken.ipynb", as_version=4)
    assert [cell.execution_count for cell in code_cells(notebook)] == [1, 2, 3]
    assert "ZeroDivisionError" in (book.root / "kit" / "done" / "log.txt").read_text()
    refused(book, "broken.ipynb: broken.md:13: this cell raised ZeroDivisionError: division by zero; mend it")
    again = run(book, "--only", "broken")
    assert "broken: failed in an earlier piece; not executed again" in again.stdout
    edit(book.page("en", "broken"), "1 / 0", "undefined = 1")  # mended: results stay, and this one is no longer its
    make_kit(book, HERE, wheels=False)
    assert run(book, "--only", "broken").returncode == 0


def test_a_cell_whose_error_the_kernel_cannot_show_has_failed(odd: Book) -> None:
    assert "silent.md:17: cell 2 of 2: ZeroDivisionError: division by zero" in said(odd, "said")
    assert kept(odd, "silent")["state"] == "failed"


def test_what_a_kit_brings_stays_importable_in_its_kernel(odd: Book) -> None:
    assert "from the kit: strange_beast" in said(odd, "said")
    assert "brought: done after 1 of 1 cells" in said(odd, "said")


def test_a_cell_past_its_limit_is_interrupted_and_the_next_runs(odd: Book) -> None:
    assert "late.md:13: cell 1 of 2: CellTimeout: ran past 300 s" in said(odd, "said")
    assert "late: failed after 2 of 2 cells" in said(odd, "said")
    assert "late.md:18: cell 2 of 2: ZeroDivisionError: division by zero" in said(odd, "said")


def test_a_kernel_is_interrupted_until_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first interrupt may come before the cell has begun."""
    sent: list[int] = []
    answers = iter([False, False, True])
    monkeypatch.setattr(kit_piece, "_signal", lambda client, number: sent.append(number))
    monkeypatch.setattr(kit_piece, "_answers", lambda client, seconds: next(answers))
    monkeypatch.setattr(kit_piece, "_is_alive", lambda client: True)
    piece: Any = SimpleNamespace(left=lambda: 1000.0)
    assert kit_piece.Piece._interrupted(piece, cast(Any, None), limit=300)
    assert sent == [signal.SIGINT] * 3


def wheel(kit: Path, name: str) -> None:
    """Adds a wheel to a kit, of a package that says that it is here."""
    module = name.partition("-")[0]
    with zipfile.ZipFile(kit / "wheels" / f"{name}.whl", "w") as archive:
        archive.writestr(f"{module}/__init__.py", "here = True\n")
        archive.writestr(f"{module}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")


def test_ended_from_outside_a_run_takes_its_kernel_with_it(tiny: Book) -> None:
    started = tiny.root / "started"
    add_page(tiny, "slow", f"import time\nopen({str(started)!r}, 'w').close()\ntime.sleep(3600)")
    kit = make_kit(tiny, HERE, wheels=False)
    edit(kit / "code/booktools/commands/kit_piece.py", "CANARY_S = 60", f"CANARY_S = {TIMEOUT_S}")  # a busy machine
    script = subprocess.Popen(
        [sys.executable, str(kit / "run.py"), "--only", "slow"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    kernels: list[psutil.Process] = []
    try:
        deadline = time.monotonic() + TIMEOUT_S
        while not started.exists():
            assert script.poll() is None, script.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.1)
        kernels = psutil.Process(script.pid).children(recursive=True)
        assert kernels
        script.send_signal(signal.SIGTERM)
        told, _ = script.communicate(timeout=TIMEOUT_S)
        assert told.decode().strip().splitlines()[-1] == "ended from outside"
        assert "canary" not in told.decode()  # it was asked, by the script alone, and has answered
        assert psutil.wait_procs(kernels, timeout=TIMEOUT_S)[1] == []
    finally:
        for process in [script, *filter(psutil.Process.is_running, kernels)]:
            process.kill()
        script.wait()


def test_an_unknown_chapter_and_another_python_are_refused(executed: Book, tmp_path: Path) -> None:
    done = run(executed, "--only", "nothing")
    assert done.returncode == 1
    assert "no such chapter: nothing; there are tiny, slow" in done.stdout
    assert kit_run.refused({"python": "3.9"}) == f"this kit is for Python 3.9, and this is {HERE}: " + (
        f"make kit PYTHON_VERSION={HERE}"
    )
    assert kit_run.refused({"python": HERE}) is None


def test_a_kit_is_replaced_whole_or_not_at_all(copy: Book) -> None:
    before = (copy.root / "kit" / "kit.json").read_bytes()
    with pytest.raises(BookError, match=r"PYTHON_VERSION=3\.9: the book runs on"):
        make_kit(copy, "3.9", wheels=False)
    edit(copy.page("en", "slow"), "last = 1", "1 +")
    with pytest.raises(BookError, match=r"chapters/en/slow\.md.*not Python"):
        make_kit(copy, HERE, wheels=False)
    with pytest.raises(BookError, match=r"HAVE=.*nothing\.txt: No such file"):
        make_kit(copy, HERE, copy.root / "nothing.txt", wheels=False)
    assert (copy.root / "kit" / "kit.json").read_bytes() == before
    assert (copy.root / "kit" / "done" / "tiny.ipynb").is_file()
    assert not list(copy.root.glob(".kit-*"))


def test_a_machine_that_has_everything_needs_no_wheel(copy: Book, tmp_path: Path) -> None:
    have = tmp_path / "have.txt"
    have.write_text("\n".join(each.metadata["Name"] for each in importlib.metadata.distributions()), encoding="utf-8")
    kit = make_kit(copy, HERE, have)
    assert (kit / "kit.json").is_file()
    assert list((kit / "wheels").iterdir()) == []


def test_only_what_the_machine_lacks_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit, site = tmp_path / "kit", tmp_path / "site"
    (kit / "wheels").mkdir(parents=True)
    for name in ("nbformat-99.0-py3-none-any", "strange_beast-1.0-py3-none-any"):
        wheel(kit, name)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("JUPYTER_PATH", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    assert kit_run.install(kit, site) == ["strange_beast"]
    assert [path.parent.name for path in site.glob("*/__init__.py")] == ["strange_beast"]
    (spec,) = site.rglob("kernel.json")
    assert json.loads(spec.read_text())["argv"][0] == sys.executable
    assert sys.path[:2] == os.environ["PYTHONPATH"].split(os.pathsep)[:2] == [str(kit / "code"), str(site)]
    assert os.environ["PYTHONPATH"].endswith("elsewhere")
    assert kit_run.absent(["strange-beast", "torch", "jax-for-nobody"]) == ["jax-for-nobody"]


def test_a_list_of_what_is_there_is_read_as_pip_writes_it(tmp_path: Path) -> None:
    have = tmp_path / "have.txt"
    have.write_text(
        "Package    Version\n---------- -------\nPyYAML     6.0\nscikit_image 1\nnumpy==2.1\nattrs, zipp.\n"
    )
    assert {"pyyaml", "scikit-image", "numpy", "attrs"} <= named(have)


def test_the_largest_is_left_out_and_what_needs_it() -> None:
    needed = {"compiler": {"compiler"}, "numba": {"numba", "compiler"}, "small": {"small"}, "middle": {"middle"}}
    sizes = {"compiler": 57, "numba": 4, "small": 1, "middle": 30}
    assert over(sizes, 100, needed) == []
    assert over(sizes, 60, needed) == ["compiler", "numba"]
    assert over(sizes, 10, needed) == ["compiler", "numba", "middle"]


def test_needs_are_those_of_the_other_python() -> None:
    """By the markers of what is installed here, which pip would read for the Python that runs it."""
    on_newer, on_older = needs(["ipython"], "3.13"), needs(["ipython"], "3.11")
    assert {"ipython", "traitlets", "wcwidth"} <= on_newer & on_older
    markers = [line for line in importlib.metadata.requires("ipython") or [] if "typing" in line]
    assert ("typing-extensions" in on_older) == any('< "3.12"' in line.replace("'", '"') for line in markers)
    assert "typing-extensions" not in needs(["ipython"], "3.13") or not markers


def test_the_kit_of_the_book_brings_all_that_its_chapters_import() -> None:
    """Everything is imported in an interpreter that refuses what neither the kit nor PyTorch brings."""
    book = Book(ROOT)
    reached = [fingerprint(book, source(book, page)) for page in pages_with_cells(book)]
    pins = {pin for each in reached for pin in each["versions"]}
    modules = sorted({name for each in reached for name in each["modules"] if not name.endswith("__main__")})
    assert len(modules) > 100  # those of packages that no chapter imports yet need more than a kit brings
    packed = needs({*KERNEL, *pins} - set(THEIRS), "3.12") - set(IDLE)
    locked = (ROOT / "requirements.txt").read_text().lower().replace("_", "-")
    assert [name for name in packed if f"\n{name}==" not in locked] == []
    code = f"""
import importlib, importlib.abc, importlib.metadata, json, re, sys
ALLOWED = set({sorted(packed | needs(["torch"], "3.12"))!r}) | {{"dlperf"}}
OWNERS = importlib.metadata.packages_distributions()
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        owners = {{re.sub(r"[-_.]+", "-", owner.lower()) for owner in OWNERS.get(name.partition(".")[0], [])}}
        if owners and not owners & ALLOWED:
            raise ModuleNotFoundError(f"{{name}} of {{sorted(owners)}} is not in the kit", name=name)
sys.meta_path.insert(0, Refuse())
for name in {[*FRONT, *modules]!r}:
    importlib.import_module(name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


FRONT = ["nbclient", "ipykernel.kernelapp", "matplotlib_inline.backend_inline"]
"""What a kit runs notebooks with."""


def test_the_manifest_says_what_the_script_must_know(executed: Book) -> None:
    manifest = json.loads((executed.root / "kit" / "kit.json").read_text())
    assert (manifest["python"], manifest["cell_seconds"]) == (HERE, 300)
    assert [page["name"] for page in manifest["pages"]] == ["tiny", "slow"]
    assert "matplotlib" in manifest["pages"][0]["needs"]
    assert "torch" not in manifest["pages"][0]["needs"]
