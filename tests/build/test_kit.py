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

import nbformat
import psutil
import pytest

from booktools import kit_run
from booktools.book import Book, BookError
from booktools.fingerprint import fingerprint
from booktools.kit import IDLE, KERNEL, THEIRS, make_kit, named, needs, over
from booktools.notebook import KEY, code_cells
from booktools.page import pages_with_cells, source
from booktools.recording import take_in
from tests.conftest import ROOT, copy_tiny_book, edit

HERE = ".".join(platform.python_version_tuple()[:2])
CELL = "```{{code-cell}} ipython3\n{}\n```\n\n"


def add_page(book: Book, name: str, *cells: str) -> None:
    """Adds a page with these cells, of which the tiny book knows in one language."""
    text = book.page("en", "tiny").read_text(encoding="utf-8").partition("(tiny)=")[0]
    book.page("en", name).write_text(text + f"# {name}\n\n" + "".join(map(CELL.format, cells)), encoding="utf-8")
    edit(book.root / "_toc.yml", "  - file: machines", f"  - file: {name}\n  - file: machines")


def run(book: Book, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the script of a kit as the bare machine does: from anywhere, without the book's packages on its path."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-P", str(book.root / "kit" / "run.py"), *arguments]
    return subprocess.run(
        command,
        cwd=book.root.parent,
        env={**clean, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def kept(book: Book, page: str) -> dict[str, object]:
    """Returns what a kit's run says of a page in its notebook."""
    return nbformat.read(book.root / "kit" / "done" / f"{page}.ipynb", as_version=4).metadata[KEY]["run"]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The tiny book with a second page, executed by its kit in two pieces: the second page's cell was cut off first."""
    book = copy_tiny_book(tmp_path_factory.mktemp("kit") / "book")
    add_page(book, "slow", "import os, time", "time.sleep(0 if 'QUICK' in os.environ else 600)", "last = 1")
    make_kit(book, HERE, wheels=False)
    first = run(book, "--minutes", "0.2", "--only", "slow")
    assert first.returncode == 3, first.stdout
    assert "slow: cut off after 2 of 3 cells" in first.stdout
    second = run(book, "--minutes", "5", QUICK="1")
    assert second.returncode == 0, second.stdout
    assert "tiny: done after 2 of 2 cells" in second.stdout
    assert "slow: done after 3 of 3 cells" in second.stdout
    return book


@pytest.fixture
def copy(executed: Book, tmp_path: Path) -> Book:
    """A copy of the executed book, free to change."""
    shutil.copytree(executed.root, tmp_path / "book")
    return Book(tmp_path / "book")


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
    line = copy.page("en", "slow").read_text().splitlines().index("time.sleep(0 if 'QUICK' in os.environ else 600)")
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


def test_after_a_cell_that_raised_the_others_are_executed(tiny: Book) -> None:
    """So that a machine that is lent for half an hour tells all that is wrong at once."""
    add_page(tiny, "broken", "1 / 0", "import os\nos.getpid()", "undefined")
    make_kit(tiny, HERE, wheels=False)
    done = run(tiny, "--only", "broken")
    assert done.returncode == 3
    assert "broken.md:13: cell 1 of 3: ZeroDivisionError: division by zero" in done.stdout
    assert "cell 3 of 3: NameError: name 'undefined' is not defined" in done.stdout
    assert kept(tiny, "broken")["state"] == "failed"
    notebook = nbformat.read(tiny.root / "kit" / "done" / "broken.ipynb", as_version=4)
    assert [cell.execution_count for cell in code_cells(notebook)] == [1, 2, 3]
    assert "ZeroDivisionError" in (tiny.root / "kit" / "done" / "log.txt").read_text()
    refused(tiny, "broken.ipynb: broken.md:13: this cell raised ZeroDivisionError: division by zero; mend it")
    again = run(tiny, "--only", "broken")
    assert "broken: failed in an earlier piece; not executed again" in again.stdout
    edit(tiny.page("en", "broken"), "1 / 0", "undefined = 1")  # mended: results stay, and this one is no longer its
    make_kit(tiny, HERE, wheels=False)
    assert run(tiny, "--only", "broken").returncode == 0


def test_a_cell_whose_error_the_kernel_cannot_show_has_failed(tiny: Book) -> None:
    add_page(tiny, "silent", "get_ipython().showtraceback = lambda *_, **__: None", "1 / 0")
    make_kit(tiny, HERE, wheels=False)
    done = run(tiny, "--only", "silent")
    assert "silent.md:17: cell 2 of 2: ZeroDivisionError: division by zero" in done.stdout
    assert kept(tiny, "silent")["state"] == "failed"


def test_what_a_kit_brings_stays_importable_in_its_kernel(tiny: Book) -> None:
    add_page(tiny, "brought", "import strange_beast\nassert strange_beast.here")
    kit = make_kit(tiny, HERE, wheels=False)
    wheel(kit, "strange_beast-1.0-py3-none-any")
    done = run(tiny, "--only", "brought")
    assert "from the kit: strange_beast" in done.stdout
    assert done.returncode == 0, done.stdout


def wheel(kit: Path, name: str) -> None:
    """Adds a wheel to a kit, of a package that says that it is here."""
    module = name.partition("-")[0]
    with zipfile.ZipFile(kit / "wheels" / f"{name}.whl", "w") as archive:
        archive.writestr(f"{module}/__init__.py", "here = True\n")
        archive.writestr(f"{module}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")


def test_a_chapter_longer_than_a_piece_is_told_kindly(tiny: Book) -> None:
    add_page(tiny, "slow", "import time\ntime.sleep(600)")
    make_kit(tiny, HERE, wheels=False)
    first = run(tiny, "--minutes", "0.1", "--only", "slow")
    assert first.returncode == 3
    assert kept(tiny, "slow")["of"] == 0.1
    second = run(tiny, "--minutes", "0.1", "--only", "slow")
    assert "slow: a whole piece of 0.1 minutes ended in its cell 1 of 1." in second.stdout
    assert "only a longer one (--minutes), shorter cells or," in second.stdout
    third = run(tiny, "--minutes", "0.1", "--only", "slow", "--again")
    assert "slow: cut off after 1 of 1 cells" in third.stdout


def test_a_cell_past_its_limit_is_interrupted_and_the_next_runs(tiny: Book) -> None:
    edit(tiny.root / "_config.yml", "timeout: 300", "timeout: 1")
    add_page(tiny, "slow", "import time\ntime.sleep(600)", "time.sleep(0.1)")
    make_kit(tiny, HERE, wheels=False)
    done = run(tiny, "--only", "slow")
    assert "slow.md:13: cell 1 of 2: CellTimeout: ran past 1 s" in done.stdout
    assert "slow: failed after 2 of 2 cells" in done.stdout
    assert "cell 2 of 2: " not in done.stdout.replace("cell 2 of 2, ", "")


def test_ended_from_outside_a_run_takes_its_kernel_with_it(tiny: Book) -> None:
    add_page(tiny, "slow", "import time\ntime.sleep(600)")
    kit = make_kit(tiny, HERE, wheels=False)
    with subprocess.Popen(
        [sys.executable, str(kit / "run.py"), "--only", "slow"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as script:
        assert script.stdout
        while b"cell 1 of 1" not in script.stdout.readline():
            assert script.poll() is None
        time.sleep(0.5)
        kernels = psutil.Process(script.pid).children(recursive=True)
        assert kernels
        script.send_signal(signal.SIGTERM)
        told, _ = script.communicate(timeout=30)
    assert told.decode().strip() == "ended from outside"
    assert psutil.wait_procs(kernels, timeout=10)[1] == []


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
    pins = {pin for page in pages_with_cells(book) for pin in fingerprint(book, source(book, page))["versions"]}
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
for name in {MODULES!r}:
    importlib.import_module(name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


MODULES = [
    "nbclient",
    "ipykernel.kernelapp",
    "matplotlib_inline.backend_inline",
    *(
        ".".join(path.relative_to(ROOT / "code").with_suffix("").parts).removesuffix(".__init__")
        for path in sorted((ROOT / "code" / "dlperf").rglob("*.py"))
        if path.stem != "__main__"
    ),
]


def test_the_manifest_says_what_the_script_must_know(executed: Book) -> None:
    manifest = json.loads((executed.root / "kit" / "kit.json").read_text())
    assert (manifest["python"], manifest["cell_seconds"]) == (HERE, 300)
    assert [page["name"] for page in manifest["pages"]] == ["tiny", "slow"]
    assert "matplotlib" in manifest["pages"][0]["needs"]
    assert "torch" not in manifest["pages"][0]["needs"]
