"""Build one language with Sphinx, in a process of its own, from pages joined with executions.

`build` starts these processes; ``jupyter-book build .`` comes to it through ``setup`` below.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from logging import getLogger
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import docutils_namespace, patch_docutils

from booktools.claims.outcomes import choose
from booktools.executions.records import borrow
from booktools.show.edition import begin, current, doctrees_of, finished_of, html_of, open_edition
from booktools.site.disk_space import FULL, InsufficientSpaceFilter, is_full
from booktools.source.book import Book, BookError, Language
from booktools.source.cache import toolchain_hash
from booktools.source.notebook import join
from booktools.source.page import page_at

logger = logging.getLogger(__name__)
UNUSED_EXTENSIONS = ("sphinx_togglebutton", "sphinx_copybutton", "sphinx_thebe", "sphinx_comments", "sphinx_book_theme",
                     "sphinx_jupyterbook_latex", "sphinx.ext.intersphinx", "jupyter_book")  # fmt: skip
"""What Jupyter Book loads and this book's own theme replaces or does without: loading it takes a second."""
UNUSED_SETTINGS = ("comments_config", "use_jupyterbook_latex", "use_multitoc_numbering",
                   "html_theme", "html_theme_options", "latex_engine")  # fmt: skip
"""What it sets for them."""


def build_language(book: Book, code: str, name: str, mark: str, fresh: bool, quiet: bool) -> int:
    """Builds one language of an edition, as `build` asks in a new process; returns the exit status.

    A build that was broken off leaves no mark; then every page is written again, for what Sphinx
    remembers to have read may never have been written.
    """
    language = book.language_in(code)
    doctrees, finished = doctrees_of(book, language, name), finished_of(book, language, name)
    whole = finished.is_file()
    finished.unlink(missing_ok=True)
    gc.set_threshold(200_000, 20, 50)  # Trees of nodes come by the million and stay: looking through them is in vain.
    try:
        begin(open_edition(book, language, name))
        with patch_docutils(None), docutils_namespace():
            app = _sphinx(book, language, name, fresh, quiet)
            full_disk = InsufficientSpaceFilter()
            for handler in getLogger("sphinx").handlers:
                handler.addFilter(full_disk)
            app.build(force_all=not whole)
        if full_disk.seen:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if app._warncount:
            raise BookError(f"{language.name}: {app._warncount} warning(s) above, each counts as an error")
        finished.write_text(mark, encoding="utf-8")
        return 0
    except Exception as error:
        (doctrees / "environment.pickle").unlink(missing_ok=True)  # So that the next run warns again.
        if not is_full(error):  # The process that asked says it once for all languages.
            shown = str(error) if isinstance(error, BookError | SphinxError) else traceback.format_exc()
            print(shown, file=sys.stderr, flush=True)
        return FULL if is_full(error) else 1


def _sphinx(book: Book, language: Language, name: str, fresh: bool, quiet: bool) -> Sphinx:
    from jupyter_book.config import get_final_config

    toc = str(book.root / "_toc.yml")
    overrides = {"language": language.sphinx, "external_toc_path": toc, "latex_individualpages": False}
    config, _ = get_final_config(
        user_yaml=book.root / "_config.yml", cli_config=overrides, sourcedir=book.root, use_external_toc=True
    )
    config = {key: value for key, value in config.items() if key not in UNUSED_SETTINGS}
    config["extensions"] = [name for name in config["extensions"] if name not in UNUSED_EXTENSIONS]
    out, doctrees = html_of(book, language, name), doctrees_of(book, language, name)
    out.mkdir(parents=True, exist_ok=True)
    return Sphinx(
        str(book.chapters / language.code),
        None,
        str(out),
        str(doctrees),
        "html",
        confoverrides=config,
        status=None if quiet else sys.stdout,
        freshenv=fresh,
    )


def _begin(app: Sphinx, config: Config) -> None:
    config.bibtex_bibfiles = [str(current().book.chapters / "references.bib")]
    config.booktools_version = toolchain_hash()


def _prepare(app: Sphinx, env: BuildEnvironment, *names: object) -> None:
    if not hasattr(env, "booktools_seen"):
        env.booktools_seen = {}  # type: ignore[attr-defined]


def _outdated(app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]) -> set[str]:
    """Returns the pages that saw something which is no longer as it was."""
    _prepare(app, env)
    seen = env.booktools_seen  # type: ignore[attr-defined]
    return {page for page in env.found_docs if page in seen and current().is_outdated(seen[page])}


def _renumbered(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Returns all pages, to be written again, if the place of a citation in the list of references has changed."""
    now = [(each.citation_id, each.key) for each in env.get_domain("cite").citations]  # type: ignore[attr-defined]
    before, env.booktools_cited = getattr(env, "booktools_cited", now), now  # type: ignore[attr-defined]
    return sorted(env.found_docs) if before != now else []


def _purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    _prepare(app, env)
    env.booktools_seen.pop(docname, None)  # type: ignore[attr-defined]


def _read(app: Sphinx, docname: str, content: list[str]) -> None:
    """Hands MyST-NB the executed notebook in place of the page's text."""
    import nbformat

    edition = current()
    edition.open_page()
    done = edition.shown(docname)
    page = page_at(edition.book, edition.book.page(edition.language.code, docname)).notebook()
    for cell in page.cells:
        if cell.cell_type == "markdown":
            cell.source = choose(cell.source, edition.outcome)
    page = join(page, done.notebook if done else None)
    lenders = borrow(page, docname, edition.watched)
    if lenders:
        edition.note("machines", "")  # Another machine may lend once there is one more.
    edition.lenders |= lenders
    content[0] = nbformat.writes(page)


def _has_read(app: Sphinx, doctree: nodes.document) -> None:
    app.env.booktools_seen[app.env.docname] = current().close_page()  # type: ignore[attr-defined]


def read_notebook(text: str) -> Any:
    """Returns the notebook that `_read` put in the place of a page."""
    import nbformat

    return nbformat.reads(text, as_version=4)


class MarkStale(SphinxTransform):
    """Says at the head of a page that what it shows was measured before a change."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        from booktools.show.display import changes

        done = current().shown(self.env.docname)
        section = next(iter(self.document.findall(nodes.section)), None)
        if done is None or not done.stale or section is None:
            return
        say = current().catalogue.translate
        text = say("This record is stale: it was measured before these changed.")
        paragraph = nodes.paragraph("", text + " ", *changes(done.stale, say))
        title = nodes.title("", say("stale"))
        section.insert(1, nodes.admonition("", title, paragraph, classes=["warning", "dl-stale-page"]))


class MarkLent(SphinxTransform):
    """Says at the head of a page that another machine's execution is shown, since the edition's machine has none."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        from booktools.show.display import identifier

        source = current().source(self.env.docname)
        section = next(iter(self.document.findall(nodes.section)), None)
        if source is None or source.name == current().name or section is None:
            return
        say = current().catalogue.translate
        text = say("This page is younger than the record of this machine. What it shows was measured on another:")
        paragraph = nodes.paragraph("", text + " ", identifier(source.name))
        section.insert(1, nodes.admonition("", nodes.title("", say("another machine")), paragraph, classes=["note"]))


def setup(app: Sphinx) -> None:
    """Registers what reads pages."""
    app.add_config_value("booktools_languages", [], "env")
    app.add_config_value("booktools_version", "", "env")
    app.add_transform(MarkLent)
    app.add_transform(MarkStale)
    app.connect("config-inited", _begin, priority=1)
    app.connect("env-before-read-docs", _prepare)
    app.connect("env-get-outdated", _outdated)
    app.connect("env-updated", _renumbered, priority=900)  # after that of the list of references
    app.connect("env-purge-doc", _purge)
    app.connect("source-read", _read)
    app.connect("doctree-read", _has_read, priority=999)
