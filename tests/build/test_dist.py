"""What is packed is the same to the byte in whichever folder and at whatever time, and opens from a file."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from booktools.commands import dist
from booktools.formats.archive import EPOCH, FIRST, epoch, write_zip
from booktools.formats.plain_notebooks import wheel_name
from booktools.show.edition import work
from booktools.source.book import Book
from tests import published
from tests.build.conftest import Shared, copy_of
from tests.conftest import ROOT, edit
from tests.machines import add_machines

MACHINE = "frobnicator"
PACK = "import sys; from booktools.commands import dist; sys.exit(dist.main())"


@pytest.fixture(scope="session")
def packed(built: Book, shared: Shared) -> tuple[Path, Path]:
    """The tiny book's folder, packed, and packed once more elsewhere by a process in which all else differs.

    The second folder holds what was built before, the first one nothing.
    """

    def make(folder: Path) -> None:
        (folder / "another, deeper").mkdir()
        for parent in (folder, folder / "another, deeper"):
            book = copy_of(built, parent)
            add_machines(book, book.notebooks, [MACHINE])
            edit(book.page("en", "tiny"), "# A tiny chapter", "# Tiny")  # as its label, of which docutils has a word
        shutil.rmtree(folder / "book" / "_build")
        unlike = {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "7", "LC_ALL": "C.UTF-8"}
        for parent, given in ((folder, {}), (folder / "another, deeper", unlike)):
            environment = {**os.environ, "MACHINE": MACHINE, EPOCH: "1700000000", **given}
            umask = 0o077 if given else 0o022
            done = subprocess.run(
                [sys.executable, "-c", PACK],
                cwd=parent / "book",
                env=environment,
                umask=umask,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stdout + done.stderr

    folder = shared("packed", make)
    return folder / "book", folder / "another, deeper" / "book"


def test_it_is_the_same_to_the_byte_in_another_folder(packed: tuple[Path, Path]) -> None:
    here, there = (folder / "_build" / "dist" for folder in packed)
    names = {path.name for path in here.iterdir()}
    assert names == {path.name for path in there.iterdir()}
    assert names == {f"site-{MACHINE}.zip", "notebooks.zip", wheel_name(), "SHA256SUMS"}
    assert different(packed[0] / "_build" / "html", packed[1] / "_build" / "html") == []  # says which, if any
    assert different(here, there) == []


def different(one: Path, other: Path) -> list[str]:
    """Returns the names of files that are not the same in two folders."""
    names = {path.relative_to(folder) for folder in (one, other) for path in folder.rglob("*") if path.is_file()}
    read = lambda path: path.read_bytes() if path.is_file() else None
    return sorted(str(name) for name in names if read(one / name) != read(other / name))


def test_no_file_names_the_folder_in_which_it_was_built(packed: tuple[Path, Path]) -> None:
    site = packed[1] / "_build" / "html"
    assert [path for path in site.rglob("*") if path.is_file() and b"another, deeper" in path.read_bytes()] == []


def test_the_sums_are_those_of_the_files(packed: tuple[Path, Path]) -> None:
    folder = packed[0] / "_build" / "dist"
    lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3
    for line in lines:
        found, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == found


def test_the_site_opens_from_where_it_was_unpacked(packed: tuple[Path, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(packed[0] / "_build" / "dist" / f"site-{MACHINE}.zip") as zipped:
        zipped.extractall(tmp_path)
    book = Book(packed[0])
    codes = [language.code for language in book.languages]
    assert list(published.problems(tmp_path / f"site-{MACHINE}", list(book.pages), codes)) == []
    assert (tmp_path / f"site-{MACHINE}" / "zh" / "_static" / "texts.js").is_file()


def test_the_notebooks_lie_beside_the_wheel_that_they_install(packed: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(packed[0] / "_build" / "dist" / "notebooks.zip") as zipped:
        names = zipped.namelist()
        first = zipped.read("notebooks/zh/tiny.ipynb").decode()
    assert f"notebooks/zh/{wheel_name()}" in names
    assert f"./{wheel_name()}" in first


@pytest.mark.parametrize("folder", ["", "zh"])
def test_a_page_with_cells_offers_the_notebooks_of_its_language_and_what_they_install(
    packed: tuple[Path, Path], folder: str
) -> None:
    site = packed[0] / "_build" / "html" / folder
    page = (site / "tiny.html").read_text(encoding="utf-8")
    assert 'href="./notebooks.zip" download' in page
    assert "tiny.ipynb" in page
    with zipfile.ZipFile(site / "notebooks.zip") as zipped:
        assert zipped.namelist() == [f"notebooks/{wheel_name()}", "notebooks/tiny.ipynb"]
        assert ("请先安装" in zipped.read("notebooks/tiny.ipynb").decode()) == bool(folder)
    assert "notebooks.zip" not in (site / "index.html").read_text(encoding="utf-8")


def test_a_build_for_oneself_offers_none(built: Book) -> None:
    assert "notebooks.zip" not in (built.build / "html" / "tiny.html").read_text(encoding="utf-8")
    assert list((built.build / "html").rglob("notebooks.zip")) == []


def test_a_site_that_cannot_be_built_leaves_what_was_packed(
    packed: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = copy_of(Book(packed[0]), tmp_path)
    before = (book.build / "dist" / "SHA256SUMS").read_bytes()
    monkeypatch.setattr(dist, "build", lambda *arguments, **options: 1)
    monkeypatch.chdir(book.root)
    monkeypatch.setenv("MACHINE", MACHINE)
    assert dist.main() == 1
    assert (book.build / "dist" / "SHA256SUMS").read_bytes() == before
    assert not work(book, MACHINE).exists()


def test_only_a_record_is_packed(
    built: Book, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(built.root)
    for name, said in (("this", "what is packed is a record"), ("nowhere", "no such machine")):
        monkeypatch.setenv("MACHINE", name)
        assert dist.main() == 1
        assert said in capsys.readouterr().err


def test_a_zip_file_is_the_same_whatever_times_and_rights_its_files_have(tmp_path: Path) -> None:
    packed = []
    for number, name in enumerate(("one", "two")):
        folder = tmp_path / name
        for each in ("b", "a/c") if number else ("a/c", "b"):
            (folder / each).parent.mkdir(parents=True, exist_ok=True)
            (folder / each).write_text(each, encoding="utf-8")
            (folder / each).chmod(0o600 + number * 0o111)
            os.utime(folder / each, (number, number))
        packed.append(write_zip(folder, tmp_path / f"{name}.zip", "top", 1_700_000_000))
    assert packed[0].read_bytes() == packed[1].read_bytes()
    with zipfile.ZipFile(packed[0]) as zipped:
        assert [each.filename for each in zipped.infolist()] == ["top/a/c", "top/b"]
        assert {each.date_time for each in zipped.infolist()} == {(2023, 11, 14, 22, 13, 20)}
        assert {each.external_attr >> 16 for each in zipped.infolist()} == {0o100644}


def test_files_bear_the_time_of_the_last_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(EPOCH, raising=False)
    assert epoch(tmp_path) == FIRST
    if (ROOT / ".git").exists():
        command = ["git", "-C", str(ROOT), "show", "-s", "--format=%ct", "HEAD"]
        assert epoch(ROOT) == int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    monkeypatch.setenv(EPOCH, "1700000000")
    assert epoch(ROOT) == epoch(tmp_path) == 1_700_000_000
