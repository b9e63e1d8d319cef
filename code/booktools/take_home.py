"""What a reader takes home of a page: its notebook without outputs, its source, and the line that offers them.

They stand at the site's root for all languages, ``notebooks/<language>/page.ipynb`` and ``sources/<language>/page.md``.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sphinx.application import Sphinx

from booktools.book import Book
from booktools.display import Recording, sign
from booktools.edition import current, html_of
from booktools.executions import write_notebook
from booktools.fingerprint import imports_of, reached
from booktools.page import page_at, source
from booktools.plain import Markdown
from booktools.provenance import repository, site_address
from booktools.render import report_missing

INSTALLED = ("torch", "numpy", "matplotlib")
"""What ``dlperf`` brings when it is installed, beside what these need themselves."""
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
          "language_info": {"name": "python"}}  # fmt: skip


def site_root(book: Book) -> Path:
    """Returns the folder of the edition that is built, in which each language has its place."""
    return html_of(book, book.languages[0], current().name)


def requirements(book: Book, page: str) -> list[str]:
    """Returns what pip must install before a page's cells can run: the book's code, and what it does not bring."""
    imported = {name for tree in source(book, page).trees(book) for name in imports_of(tree)}
    known = importlib.metadata.packages_distributions()
    others = {canonicalize_name(known.get(package, [package])[0]) for package in reached(imported)[1]}
    from_ = repository(book)
    return [from_.requirement if from_ else ".", *sorted(others - _brought())]


@functools.cache
def _brought() -> set[str]:
    """Returns what is there once ``dlperf`` is installed, and what whoever opens a notebook has."""
    needed = (Requirement(line) for name in INSTALLED for line in importlib.metadata.requires(name) or [])
    return {"ipython", *INSTALLED, *(canonicalize_name(each.name) for each in needed if each.marker is None)}


def notebook(app: Sphinx, page: str, doctree: nodes.document) -> Any:
    """Returns a page as the notebook that is taken home, in the language that is built."""
    import nbformat

    book, language, labels = current().book, current().language, current().catalogue
    say = labels.translate
    needed = " ".join(f'"{each}"' for each in requirements(book, page))
    hint = say("First install what this notebook imports. Start it again afterwards.")
    if repository(book) is None:
        hint += "\n\n" + say("The book's own code is on no index: run this in the book's folder.")
    new = nbformat.v4
    committed = page_at(book, book.page(language.code, page)).notebook().cells
    cells = [new.new_markdown_cell(hint), new.new_code_cell(f"%pip install -q {needed}")]
    begun = len(cells)
    for part in whole(
        Markdown(
            page_address(app, page), app.env.toc_fignumbers.get(page, {}), app.config.numfig_format["figure"]
        ).parts(doctree),
        committed,
    ):
        if isinstance(part, int):
            cells.append(new.new_code_cell(labels.translate_code(committed[part].source)))
        elif len(cells) > begun and cells[-1].cell_type == "markdown":
            cells[-1].source += "\n\n" + part
        else:
            cells.append(new.new_markdown_cell(part))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return new.new_notebook(cells=cells, metadata=KERNEL)


def whole(parts: Iterable[str | int], committed: Sequence[Any]) -> Iterator[str | int]:
    """Yields the parts of a page with the cells that it does not show, which others may build on, in their places."""
    following = 0
    for part in parts:
        if isinstance(part, int):
            yield from (n for n in range(following, part) if committed[n].cell_type == "code")
            following = part + 1
        yield part
    yield from (n for n in range(following, len(committed)) if committed[n].cell_type == "code")


def page_address(app: Sphinx, page: str) -> str:
    """Returns where a page stands once the site is published; empty where no address is configured."""
    book, language = current().book, current().language
    base = site_address(book)
    return base and base + ("" if language == book.languages[0] else f"{language.code}/") + f"{page}.html"


def _write(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Writes what is taken home of a page beside the site."""
    book, code, root = current().book, current().language.code, site_root(current().book)
    (root / _source_path(code, page)).parent.mkdir(parents=True, exist_ok=True)
    (root / _source_path(code, page)).write_bytes(book.page(code, page).read_bytes())
    path = root / _notebook_path(code, page)
    if has_cells(book, page):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_notebook(notebook(app, page, doctree), path)
        report_missing(page)
    else:
        path.unlink(missing_ok=True)


def has_cells(book: Book, page: str) -> bool:
    """Returns whether a page is executed, so that it has a notebook to take home."""
    return page in book.pages and bool(source(book, page).cells)


def _notebook_path(code: str, page: str) -> str:
    return f"notebooks/{code}/{page}.ipynb"


def _source_path(code: str, page: str) -> str:
    return f"sources/{code}/{page}.md"


class Execution(Recording):
    """Says on which machine the outputs of a page were made, when, and how long that took."""

    def words(self, app: Sphinx, page: str) -> str:
        """Returns it as HTML; empty for a page that no machine has executed."""
        done = current().shown(page)
        machine = next((each for each in self.machines if each.name == current().name), None)
        if done is None or machine is None:
            return ""
        named = nodes.inline("", "", *self.machine_words(machine))
        shown = app.builder.render_partial(named)["fragment"].strip()  # type: ignore[attr-defined]
        date = str(done.machine.get("date", ""))[:10]
        text = self.say("executed on {machine} on {date} in {time}")
        return text.format(machine=shown, date=f'<time datetime="{date}">{date}</time>', time=self.took(done.seconds))

    def took(self, seconds: float) -> str:
        """Returns a time in whole minutes, in seconds below two of them."""
        return self.say(f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{max(seconds, 2):.0f} seconds")


def _context(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Gives the template the line at a page's end: links as (words, address), and the words on its execution."""
    book, code, say = current().book, current().language.code, current().catalogue.translate
    context["taken"], context["executed"] = [], ""
    context["taken_head"] = say("This page") + sign(":")
    if page not in book.pages or page == app.config.root_doc:
        return
    root = context["site_root"]
    links = [(say("source"), root + _source_path(code, page))]
    remote = repository(book)
    if has_cells(book, page):
        path = _notebook_path(code, page)
        links.insert(0, (say("notebook"), root + path))
        if remote and remote.slug:
            links += [(say("open in Colab"), remote.colab(path)), (say("open in Binder"), remote.binder(path))]
        context["executed"] = Execution().words(app, page)
    if remote:
        links.append((say("suggest a change"), remote.edit(f"chapters/{code}/{page}.md")))
    context["taken"] = links


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Removes what is taken home of pages that the book no longer has, and tells Binder what to install."""
    if error is not None or app.builder.format != "html":
        return
    book, code = current().book, current().language.code
    root = site_root(book)
    for path in (*(root / "notebooks" / code).glob("*.ipynb"), *(root / "sources" / code).glob("*.md")):
        if path.stem not in book.pages:
            path.unlink()
    remote = repository(book)
    if remote and remote.slug and code == book.languages[0].code:
        (root / "binder").mkdir(exist_ok=True)
        (root / "binder" / "requirements.txt").write_text(f"{remote.requirement}\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Registers what writes notebooks and sources, and the line that offers them."""
    app.connect("doctree-resolved", _write, priority=950)
    app.connect("html-page-context", _context, priority=910)  # after that of the look, which says where the root is
    app.connect("build-finished", _finish, priority=800)
