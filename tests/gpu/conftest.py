"""The simulated GPU, built once, and the rehearsals of all pages, as many at a time as there are cores."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from nbformat import NotebookNode
from rehearsal.execution import ROOT, Rehearsal, copy_of_the_book, rehearse, variables
from rehearsal.forks import Forks
from rehearsal.gpu_lines import gpu_only, read_page
from rehearsal.left_out import left_out
from rehearsal.selection import unlike_on_more
from simulated_cuda import VERSION
from simulated_cuda.build import library as built

from booktools.executions.executions import open_notebook, reading
from booktools.executions.fingerprint import fingerprint
from booktools.source.book import Book, BookError
from booktools.source.notebook import code_cells
from booktools.source.page import source
from dlperf.environment import cores

BOOK = Book(ROOT)
PAGES = [p for p in BOOK.pages if "{code-cell}" in BOOK.page("en", p).read_text(encoding="utf-8")]
DEVICES = (1, 2)


def cells(page: str) -> int:
    """Returns how many cells a page has, by which long rehearsals begin before short ones."""
    return BOOK.page("en", page).read_text(encoding="utf-8").count("{code-cell}")


def waits_for_rehearsals(item: pytest.Item) -> bool:
    """Returns whether a test asks for a rehearsal."""
    return "rehearsals" in getattr(item, "fixturenames", ())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts what waits for rehearsals last: these begin at once, and the others run meanwhile.

    Skips all of it where there is nothing to simulate, or nothing to do it with; says which.
    """
    items.sort(key=waits_for_rehearsals)
    why = ""
    if sys.platform != "linux":
        why = "the simulated GPU is built for Linux"
    elif torch.version.cuda:
        why = "this PyTorch has CUDA: what is simulated here is there"
    elif not torch.__version__.startswith(VERSION):
        why = f"the simulated GPU goes with PyTorch {VERSION}, not with {torch.__version__}"
    for item in items:
        if why and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def library() -> Path:
    """The simulated GPU's library."""
    return built(ROOT / "_build" / "gpu")


@pytest.fixture(scope="session")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the lines that only a GPU reaches."""
    path = tmp_path_factory.mktemp("lines") / "lines.json"
    path.write_text(json.dumps(gpu_only()), encoding="utf-8")
    return path


Run = Callable[..., str]


def simulated(library: Path, devices: int) -> dict[str, str]:
    """Returns the environment of processes with so many simulated GPUs, which are told that they talk by NCCL."""
    return {
        **os.environ,
        "SIMULATED_CUDA_LIBRARY": str(library),
        "SIMULATED_CUDA_DEVICES": str(devices),
        "SIMULATED_CUDA_NCCL": "1",
        "PYTHONPATH": os.pathsep.join((str(Path(__file__).parent / "site"), str(ROOT / "code"), str(ROOT))),
    }


@pytest.fixture(scope="session")
def run(library: Path) -> Iterator[Run]:
    """Runs a program in a process with two simulated GPUs, and returns the traceback that it ended with, or ''."""
    with Forks(simulated(library, 2)) as forks:
        yield forks.run


def in_short(page: str) -> dict[int, NotebookNode]:
    """Returns the cells of a page that need not be rehearsed, as `make short` executed them; none if it has not."""
    path, found = ROOT / "notebooks-short" / f"{page}.ipynb", dict[int, NotebookNode]()
    with contextlib.suppress(BookError, FileNotFoundError):
        said = reading(BOOK, path)
        if said.whole and said.mark.get("fingerprint") == fingerprint(BOOK, source(BOOK, page)):
            executed = code_cells(open_notebook(path))
            found = {number: executed[number] for number in left_out(page, sources(page))}
    return found


def sources(page: str) -> list[str]:
    """Returns the source of each code cell of a page."""
    return [cell.source for cell in code_cells(read_page(BOOK.page("en", page)))]


class Rehearsals:
    """All rehearsals by page and number of GPUs; each begins when a test first asks for it, or for any that follow."""

    def __init__(self, folder: Path, library: Path, lines: Path) -> None:
        self.folder, self.library, self.lines = folder, library, lines
        self.pool = ThreadPoolExecutor(cores() + 2)  # cells wait a good part of their time
        self.books = {devices: copy_of_the_book(folder / f"book-{devices}") for devices in DEVICES}
        self.begun: dict[tuple[str, int], Future[Rehearsal]] = {}

    def begin(self, page: str, devices: int) -> None:
        """Puts a rehearsal on the list, after that of the page on one GPU, which tells what more of them leave out."""
        if devices > 1:
            self.begin(page, 1)
        if (page, devices) not in self.begun:
            self.begun[page, devices] = self.pool.submit(self._run, page, devices)

    def _run(self, page: str, devices: int) -> Rehearsal:
        folder = self.folder / f"{page}-{devices}"
        folder.mkdir()
        given = variables(folder, self.lines, self.library, devices)
        if devices > 1:
            one = self.begun[page, 1].result()
            return rehearse(
                self.books[devices], page, folder, given, unlike_on_more(sources(page), one.using, one.counting)
            )
        return rehearse(self.books[devices], page, folder, given, instead=in_short(page))

    def __call__(self, page: str, devices: int) -> Rehearsal:
        """Returns what came of a page, once it is there."""
        self.begin(page, devices)
        return self.begun[page, devices].result()


@pytest.fixture(scope="session")
def rehearsals(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, library: Path, lines: Path
) -> Iterator[Rehearsals]:
    """What came of each page on so many simulated GPUs. Those that collected tests name are begun at once."""
    found = Rehearsals(tmp_path_factory.mktemp("rehearsals"), library, lines)
    wanted = set()
    for item in request.session.items:
        given = getattr(getattr(item, "callspec", None), "params", {})
        if "devices" in given and waits_for_rehearsals(item):
            wanted |= {(page, given["devices"]) for page in ([given["page"]] if "page" in given else PAGES)}
    for page, devices in sorted(wanted, key=lambda each: (each[1], -cells(each[0]))):
        found.begin(page, devices)
    yield found
    found.pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session", autouse=True)
def _rehearsals_begin_first(request: pytest.FixtureRequest) -> None:
    """Begins the rehearsals that tests of this session ask for before the tests that need none."""
    if any(map(waits_for_rehearsals, request.session.items)):
        request.getfixturevalue("rehearsals")
