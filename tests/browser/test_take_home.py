"""Notebooks of the built site, one of them executed where only the book's code is installed; the page for nowhere."""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbclient import NotebookClient
from playwright.sync_api import Browser

from booktools.book import Book
from booktools.page import pages_with_cells, source
from booktools.tokens import code
from tests.browser.conftest import ROOT, SUB_PATH, languages

BOOK = Book(ROOT)
NOTATION = re.compile(r"\{(?:glue|ref|cite|term|numref|eq|machine|given|claim|outcome)[^}]*\}`|^\s*(?:```|:::)\{", re.M)
QUICK = "slow"
"""The page whose cells take least."""


def taken(site: Path, language: str, page: str) -> Any:
    return nbformat.read(site / "notebooks" / language / f"{page}.ipynb", as_version=4)


@pytest.mark.parametrize("page", pages_with_cells(BOOK))
@pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
def test_a_notebook_has_the_cells_of_its_page_and_none_of_its_notation(site: Path, language: Any, page: str) -> None:
    notebook = taken(site, language.code, page)
    nbformat.validate(notebook)
    install, *cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    assert install.source.startswith("%pip install")
    assert [code(cell.source) for cell in cells] == [code(cell.source) for cell in source(BOOK, page).cells]
    assert not any(cell.outputs for cell in cells)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert NOTATION.findall(text) == []
    assert len(text) > 1000


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python whose only code of the book's is what pip installed; what that needs is lent by the tests' own."""
    folder = tmp_path_factory.mktemp("fresh")
    shutil.copytree(ROOT / "code", folder / "book" / "code", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "book")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    where = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    arguments = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", str(packages), "."]
    subprocess.run([sys.executable, "-m", "pip", "install", *arguments], cwd=folder / "book", check=True)
    # A line of a .pth adds a folder and runs none of that folder's own: the editable dlperf of the tests is not lent.
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    shutil.rmtree(folder / "book")
    return python


def clean() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "DLPERF_CELL_SECONDS")}


def test_the_fresh_python_has_the_installed_code(fresh: Path) -> None:
    ask = [str(fresh), "-c", "import dlperf; print(dlperf.__file__)"]
    found = subprocess.run(ask, capture_output=True, text=True, env=clean(), check=True).stdout
    assert Path(found).is_relative_to(fresh.parents[1])


@pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
def test_a_notebook_runs_where_dlperf_was_installed(site: Path, fresh: Path, tmp_path: Path, language: Any) -> None:
    kernel = tmp_path / "kernels" / "fresh"
    kernel.mkdir(parents=True)
    command = f'["{fresh}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    said = f'{{"argv": {command}, "display_name": "fresh", "language": "python"}}'
    (kernel / "kernel.json").write_text(said, encoding="utf-8")
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    notebook = taken(site, language.code, QUICK)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    notebook.cells.remove(first)  # what it installs is what the fixture installed
    specs = KernelSpecManager(kernel_dirs=[str(tmp_path / "kernels")], ensure_native_kernel=False)
    manager = AsyncKernelManager(kernel_name="fresh", kernel_spec_manager=specs)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, km=manager, timeout=300, resources=resources).execute(env=clean())
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
def test_every_page_leads_to_the_one_before_and_the_one_after(site: Path, language: Any) -> None:
    folder = site if language == languages()[0] else site / language.code
    found = {}
    for page in BOOK.pages:
        turn = BeautifulSoup((folder / f"{page}.html").read_text(encoding="utf-8"), "html.parser").select(".dl-turn a")
        found[page] = {str(a["rel"][0]): Path(str(a["href"])).stem for a in turn}
    pages = [None, *BOOK.pages, None]
    wanted = [{"prev": before, "next": after} for before, after in zip(pages, pages[2:], strict=False)]
    assert list(found.values()) == [{rel: to for rel, to in each.items() if to} for each in wanted]


class _Host(http.server.SimpleHTTPRequestHandler):
    """Shows the site under the sub-path, and its page for nowhere where there is nothing, as hosts do."""

    def translate_path(self, path: str) -> str:
        below = path[len(SUB_PATH) - 1 :] if path.startswith(SUB_PATH) else "/outside-the-site"
        return super().translate_path(below)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        text = (Path(self.directory) / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def host(site: Path) -> Iterator[str]:
    """The address of a host that shows the site's own page for nowhere."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Host, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}{SUB_PATH}"
    server.shutdown()


@pytest.mark.parametrize("lost", ["nothing.html", "zh/nothing.html", "a/b/c/d/nothing.html"])
def test_the_page_for_nowhere_has_its_style_and_leads_back_from_any_depth(
    browser: Browser, host: str, lost: str
) -> None:
    page = browser.new_page()
    answer = page.goto(host + lost)
    assert answer
    assert answer.status == 404
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--paper')")
    page.locator("article a").first.click()
    assert page.url.startswith(host)
    assert page.locator("body.dl-cover").count() == 1
    page.close()
