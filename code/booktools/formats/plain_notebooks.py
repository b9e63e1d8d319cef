"""Write each page with cells as a plain notebook for whoever has only pip.

``python -m booktools.formats.plain_notebooks`` writes them into `_build/notebooks`, a folder for each language, beside
the wheel that their first cell installs. A page's code is there as it is, with comments in the page's language; its
text is what `plain_markdown` makes of it.
"""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from booktools.checks.width import included_code
from booktools.executions.fingerprint import DLPERF, fingerprint
from booktools.formats.plain_markdown import Directive, Markdown
from booktools.formats.targets import targets
from booktools.show.catalogue import Catalogue
from booktools.show.edition import labels_of
from booktools.site.provenance import repository_address, site_address
from booktools.source.blocks import Block
from booktools.source.book import Book, BookError, Language
from booktools.source.page import FOLDED, page_at, pages_with_cells, source

if TYPE_CHECKING:
    from nbformat import NotebookNode

PROJECT = DLPERF.parents[1] / "pyproject.toml"
"""What says the versions of the distribution and of what it needs."""
SETUP = "from dlperf import visible_records\n\nvisible_records.enable()"
"""The one cell that a page does not have."""
PYTHON = ("python", "ipython", "ipython3", "py", "python3")


def project() -> dict[str, Any]:
    """Returns what `pyproject.toml` says of the distribution."""
    return dict(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"])


def wheel_name() -> str:
    """Returns the name of the distribution's wheel."""
    said = project()
    return f"{said['name']}-{said['version']}-py3-none-any.whl"


def install_line(book: Book, page: str) -> str:
    """Returns the line that installs what a page's cells import.

    `dlperf` comes from the address under ``repository: url:`` in `_config.yml` where there is one, else from the wheel
    in the notebook's folder.
    """
    distribution, torch, *others = _requirements(book, [page])
    return " ".join(["pip install", f'"{distribution}"', f'"{torch}"', *others, "jupyterlab"])


def _requirements(book: Book, pages: list[str]) -> list[str]:
    """Returns what the cells of pages need beside JupyterLab: `dlperf`, torch, and then the others by name."""
    said = project()
    reached = {name for page in pages for name in fingerprint(book, source(book, page))["versions"]}
    extras = said["optional-dependencies"]
    wanted = [name for name in ("hardware", "kvstore", "ray") if reached & {_name(each) for each in extras[name]}]
    others = sorted(reached & {_name(each) for each in extras["book"]})
    bracket = f"[{','.join(wanted)}]" if wanted else ""
    address = repository_address(book)
    distribution = f"dlperf{bracket} @ git+{address}" if address else f"./{wheel_name()}{bracket}"
    torch = next(each for each in said["dependencies"] if _name(each) == "torch")
    return [distribution, torch, *others]


def _name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def page_address(book: Book, language: Language, page: str) -> str:
    """Returns the address of a page where `_config.yml` says at which the book is published, else nothing."""
    base = site_address(book)
    return base and base + book.path_on_site(language, page)


def first_cell(book: Book, language: Language, page: str, say: Any) -> str:
    """Returns the text of the first cell: what to install, and what a reader of a plain notebook should know."""
    address = page_address(book, language, page)
    python = f"`{project()['requires-python']}`"
    lines = [
        f"**{say('Install this first')}**",
        "",
        say("It needs Python {python}. In a terminal, in the folder of this file:").format(python=python),
        "",
        "```sh",
        install_line(book, page),
        "```",
        "",
        *([say("On Colab, put the line into a cell, with % before it."), ""] if repository_address(book) else []),
        say(
            "A name such as {key} stands for a value that was measured: run the cell that records it, and it is shown "
            "below. Sentences that depend on such values are on the book's page only."
        ).format(key=f"`{page}.…`"),
        *(["", f"[{say('The page in the book')}]({address})"] if address else []),
    ]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def notebook(book: Book, language: Language, page: str) -> NotebookNode:
    """Returns a page as a plain notebook without outputs; BookError names what it cannot show or translate."""
    import nbformat

    shared, labels, at = labels_of(book, language), Catalogue(None), page_at(book, book.page(language.code, page))
    labels.path, labels.entries = shared.path, shared.entries  # what is missing here is this page's
    where = book.relative(at.path)
    found = targets(book, language, labels.translate)

    def code(kind: str, text: str) -> str:
        if kind in PYTHON:
            return labels.translate_code(text)
        return labels.translate_diff(text) if kind == "diff" else text

    def included(directive: Directive) -> tuple[str, str]:
        options = "".join(f":{name}: {value}\n" for name, value in directive.options.items())
        block = Block("{literalinclude}", directive.line + 1, same=f"{directive.argument}\n{options}")
        return directive.options.get("language", ""), "\n".join(included_code(book, at, block).lines)

    address = page_address(book, language, page)
    markdown = Markdown(where, found, labels.translate, included, code, address)
    v4 = nbformat.v4
    cells = [
        v4.new_markdown_cell(first_cell(book, language, page, labels.translate)),
        v4.new_code_cell(SETUP, metadata=_metadata(["hide-input"])),
    ]
    for cell in at.notebook().cells:
        if cell.cell_type == "code":
            tags = list(cell.metadata.get("tags", []))
            cells.append(v4.new_code_cell(labels.translate_code(cell.source), metadata=_metadata(tags)))
        elif text := markdown.convert(cell.source):
            cells.append(v4.new_markdown_cell(text))
    if found.cited:
        listed = [f"- [{short}] {whole}" for short, whole in sorted(found.cited.items())]
        cells.append(v4.new_markdown_cell("\n".join([f"## {labels.translate('References')}", "", *listed])))
    if labels.missing:
        raise BookError(
            f"{where}: {book.relative(labels.path or at.path)} has no translation of {', '.join(labels.missing)}"
        )
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def _metadata(tags: list[str]) -> dict[str, Any]:
    """Returns a cell's metadata; JupyterLab folds the source that a page folds."""
    folded = {"jupyter": {"source_hidden": True}} if FOLDED & set(tags) else {}
    return {**({"tags": tags} if tags else {}), **folded}


def write_language(book: Book, language: Language, folder: Path) -> list[Path]:
    """Writes the notebooks of one language into a folder; returns their paths, in reading order."""
    import nbformat

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for page in pages_with_cells(book):
        path = folder / f"{page}.ipynb"
        path.write_text(nbformat.writes(notebook(book, language, page)) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def write_all(book: Book, folder: Path) -> list[Path]:
    """Writes the notebooks of every language, each with the wheel that they install; what was in the folder goes."""
    from booktools.formats.wheel import write_wheel

    shutil.rmtree(folder, ignore_errors=True)
    paths = [path for each in book.languages for path in write_language(book, each, folder / each.code)]
    first, *others = (folder / each.code for each in book.languages)
    wheel = write_wheel(first)
    if repository_address(book):
        write_binder(book, folder / "binder")
    return [*paths, wheel, *(Path(shutil.copy(wheel, other)) for other in others)]


def write_binder(book: Book, folder: Path) -> None:
    """Writes what Binder installs before it opens a notebook: the packages of all pages, and a compiler."""
    folder.mkdir(parents=True)
    lines = [*_requirements(book, list(pages_with_cells(book))), "jupyterlab"]
    (folder / "requirements.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "apt.txt").write_text("g++\n", encoding="utf-8")


def main() -> int:
    """Writes `_build/notebooks` and says what lies there; returns the exit status."""
    book = Book.find()
    folder = book.build / "notebooks"
    try:
        paths = write_all(book, folder)
    except BookError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(f"{book.relative(path)}" for path in paths))
    print(f"The first cell of each says what to install: {wheel_name()} lies beside it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
