"""Sites of the whole book for tests, built of fixed executions: the same from a commit on every machine.

Each is an edition of one copy of the book in `_build/sites`, with every text of one outcome. Its records are the
executions that `executions` chooses, as if made today, under the name `RECORDED` and as those of two made-up machines.
Sites stay until what they are built of changes; processes that ask for the same one wait for whoever builds it.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import nbformat

from booktools.executions.executions import reading, stamp
from booktools.executions.fingerprint import all_modules, changes, fingerprint
from booktools.show.edition import FORCED, html_of
from booktools.source.book import Book, BookError
from booktools.source.cache import digest, digest_of_files, toolchain_hash
from booktools.source.kernel import KEY
from booktools.source.page import pages_with_cells, source
from tests.conftest import ROOT, build
from tests.machines import add_machines, copy_book

RECORDED = "recorded"
"""The machine of the chosen executions, in the sites."""
MADE_UP = ("quux", "frobnicator")
"""The made-up machines beside it: one with strange names, one with GPUs."""
SITES = {"held": RECORDED, "failed": "frobnicator", "not-run": "quux"}
"""The machine that each site shows, by the outcome that its texts have wherever they can."""
SHORT = "notebooks-short"
"""The folder of short executions: they stand in for a page of whose present cells no record is."""


def executions(book: Book) -> dict[str, Path]:
    """Returns a notebook with an execution of the present cells of each page.

    They come from the record that has most pages (of two, the one since which less has changed, then by name), what
    it lacks from the others, and what no record has from the short executions. Records of machines with a GPU come
    last: they borrow what only a CPU measures. BookError names pages without any.
    """
    pages = pages_with_cells(book)
    records = {path: _changes_since(book, path) for path in sorted(book.records.glob("*")) if path.is_dir()}
    chosen: dict[str, Path] = {}
    order = lambda each: (_has_accelerator(book, each, records[each]), -len(records[each]), sum(records[each].values()))
    for folder in sorted(records, key=order):
        chosen = {page: folder / f"{page}.ipynb" for page in records[folder]} | chosen
    if any(page not in chosen for page in pages):
        chosen = {
            page: book.root / SHORT / f"{page}.ipynb" for page in _changes_since(book, book.root / SHORT)
        } | chosen
    if lacking := [page for page in pages if page not in chosen]:
        raise BookError(
            f"no record under records/ has the present cells of {', '.join(lacking)}, and {SHORT}/ has no execution of "
            "them: execute every page in short (make short), or record a machine (make record)"
        )
    return {page: chosen[page] for page in pages}


def _has_accelerator(book: Book, folder: Path, pages: Iterable[str]) -> bool:
    """Returns whether any of these pages' executions in a folder is of a machine with an accelerator."""
    marks = (reading(book, folder / f"{page}.ipynb").mark for page in pages)
    return any(mark.get("environment", {}).get("accelerator") for mark in marks)


def _changes_since(book: Book, folder: Path) -> dict[str, int]:
    """Returns the number of changes, of modules and versions, since a folder's execution of each page.

    Pages of which it has none, or one of other cells, are left out.
    """
    found = {}
    for page in pages_with_cells(book):
        path = folder / f"{page}.ipynb"
        said = reading(book, path) if path.is_file() else None
        if said and said.whole and "fingerprint" in said.mark:
            changed = changes(said.mark["fingerprint"], fingerprint(book, source(book, page)))
            if "cells" not in changed:
                found[page] = len(changed)
    return found


def add_recorded(book: Book, chosen: Mapping[str, Path]) -> None:
    """Writes the chosen executions as the record `RECORDED` of a book, as if nothing had changed since."""
    folder = book.records / RECORDED
    folder.mkdir(parents=True)
    for page, path in chosen.items():
        notebook = nbformat.read(path, as_version=4)
        said = notebook.metadata[KEY]
        mark = {name: said[name] for name in ("machine", "environment", "seconds") if name in said}
        notebook.metadata[KEY] = nbformat.from_dict(mark | {"fingerprint": fingerprint(book, source(book, page))})
        nbformat.write(notebook, folder / path.name)
        stamp(folder / path.name)


def site(outcome: str, root: Path = ROOT) -> Path:
    """Returns the folder of the site in which texts have this outcome, after building it if need be.

    BookError holds what the build said, or which page has no execution.
    """
    folder = root / "_build" / "sites"
    folder.mkdir(parents=True, exist_ok=True)
    original = Book(root)
    with _locked(folder.with_suffix(".lock")):
        chosen = executions(original)
        made_of = _mark(original, chosen)
        book = _copied(original, folder, chosen, made_of)
        finished = folder / f"finished-{outcome}"
        if not (finished.is_file() and finished.read_text(encoding="utf-8") == made_of):
            done = build(book, "-q", MACHINE=SITES[outcome], **{FORCED: outcome})
            if done.returncode:
                raise BookError(f"the site of the outcome {outcome!r} could not be built:\n{done.stdout}")
            finished.write_text(made_of, encoding="utf-8")
    return html_of(book, book.languages[0], SITES[outcome])


def _copied(original: Book, folder: Path, chosen: Mapping[str, Path], made_of: str) -> Book:
    """Returns the copy of the book, made anew where its sources have changed; what was built of it stays beside it."""
    copied = folder / "copied"
    if not (copied.is_file() and copied.read_text(encoding="utf-8") == made_of):
        copied.unlink(missing_ok=True)
        for name in ("chapters", "records"):
            shutil.rmtree(folder / name, ignore_errors=True)
        (folder / "code").unlink(missing_ok=True)
        book = copy_book(original.root, folder)
        add_recorded(book, chosen)
        add_machines(book, book.records / RECORDED, MADE_UP)
        copied.write_text(made_of, encoding="utf-8")
    return Book(folder)


def _mark(book: Book, chosen: Mapping[str, Path]) -> str:
    """Returns a mark of all that the sites are built of."""
    own = Path(__file__).parent
    paths = [path for path in book.chapters.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    paths += [book.root / name for name in ("_config.yml", "_toc.yml", "requirements.txt", "CITATION.cff")]
    paths += [*chosen.values(), own / "sites.py", own / "machines.py"]
    return digest(toolchain_hash(), all_modules(), digest_of_files(book.root, paths))


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
