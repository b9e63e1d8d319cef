"""One build for all languages: execute what is stale, build each edition aside, publish the whole or nothing.

``jupyter-book build .`` starts Sphinx once, for the first language. This module redirects it to
``chapters/<language>`` and ``_build/work``, and when it has finished builds the other languages the
same way, each in a process of its own. Only when all have succeeded does ``_build/html`` change.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from booktools import lint, parity
from booktools.book import Book, BookError
from booktools.claims import Claim, all_claims, judge
from booktools.execute import execute_stale
from booktools.notebook import Execution, join, read_page
from booktools.records import HERE, Machine, all_machines, borrow

logger = logging.getLogger(__name__)
EDITION = "MACHINE"
"""The environment variable that names the machine whose record is shown; unset, the site shows this machine's."""
ROOM = 100 * 2**20
"""Bytes that must be free below `_build` before a build starts."""
THEME = Path(__file__).resolve().parent / "theme"


def stop(app: Sphinx, message: object) -> NoReturn:
    """Ends the build with a message as its last word; forgets what was read, so that the next run warns again."""
    doctrees = Path(app.doctreedir)
    if state(app).work in doctrees.parents:
        (doctrees / "environment.pickle").unlink(missing_ok=True)
    print(f"\nThe book was not built; the site that was there is untouched.\n{message}", file=sys.stderr, flush=True)
    raise SystemExit(1)


@dataclass
class State:
    """What one run of Sphinx knows of the book."""

    book: Book
    edition: str
    machines: list[Machine] = field(default_factory=list)
    claims: dict[str, Claim] = field(default_factory=dict)
    lenders: dict[str, str] = field(default_factory=dict)  # by key: whose value is shown where this machine has none

    @property
    def work(self) -> Path:
        """The folder in which this edition is built before it is published."""
        return self.book.build / "work" / self.edition

    def shown(self, page: str) -> Execution | None:
        """Returns the execution whose outputs the page shows."""
        machine = next((m for m in self.machines if m.name == self.edition), None)
        return machine.executions.get(page) if machine else None


def state(app: Sphinx) -> State:
    """Returns the state of this run."""
    return app._booktools  # type: ignore[attr-defined]


def preflight(book: Book) -> None:
    """Raises BookError unless `_build` can be written and has room, before anything is begun."""
    folder = book.build
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BookError(
            f"{folder}: cannot be written ({error.strerror}); make it a folder that this user may write"
        ) from None
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        raise BookError(f"{folder}: only {free / 2**20:.0f} MiB are free, a build needs {ROOM / 2**20:.0f}")


def check(book: Book) -> None:
    """Raises BookError with everything that is wrong with the sources; takes no longer than reading them."""
    problems = [*parity.problems(book), *lint.problems(book)]
    if problems:
        raise BookError("\n".join(problems))


def _begin(app: Sphinx, config: Config) -> None:
    """Redirects Sphinx to one language, and for the first checks and executes before anything is read."""
    current = state(app)
    book = current.book
    language = book.language(config.language)
    first = language == book.languages[0]
    app.srcdir = type(app.srcdir)(book.chapters / language.code)
    app.outdir = type(app.outdir)(current.work / "html" / ("" if first else language.code))
    app.doctreedir = type(app.doctreedir)(current.work / "doctrees" / language.code)
    config.bibtex_bibfiles = [str(book.chapters / "references.bib")]
    config.booktools_version = _tools_hash()
    try:
        if first:
            check(book)
            if current.edition == HERE:
                execute_stale(book)
        current.claims = all_claims(book)
        current.machines = all_machines(book, current.edition)
        if current.edition != HERE and not any(m.name == current.edition for m in current.machines):
            names = ", ".join(m.name for m in current.machines) or "none"
            raise BookError(f"{EDITION}={current.edition}: no such machine under records/; there are: {names}")
        for machine in current.machines:
            machine.records  # noqa: B018  Reading them all now finds a corrupt one before the build begins.
            for claim in current.claims.values():
                judge(claim, machine)  # A predicate that raises is found now, too.
    except BookError as error:
        stop(app, error)
    _log_stale(current)


def _log_stale(current: State) -> None:
    for machine in current.machines:
        for page, done in machine.executions.items():
            if done.stale:
                logger.info(
                    "records/%s/%s.ipynb is stale; changed since: %s", machine.name, page, ", ".join(done.stale)
                )


def _tools_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _inputs(book: Book) -> str:
    """Returns a mark of everything that pages share: executions, records, catalogues."""
    paths = [*book.notebooks.glob("*.ipynb"), *book.records.rglob("*.ipynb"), *book.chapters.glob("labels.*.po")]
    paths += book.chapters.glob("claims/*.py")
    return repr([(str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(paths)])


def _outdated(app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]) -> set[str]:
    mark = _inputs(state(app).book)
    before, env.booktools_inputs = getattr(env, "booktools_inputs", None), mark  # type: ignore[attr-defined]
    return set() if before == mark else set(env.found_docs)


def _read(app: Sphinx, docname: str, content: list[str]) -> None:
    """Hands MyST-NB the executed notebook in place of the page's text."""
    current = state(app)
    language = current.book.language(app.config.language)
    done = current.shown(docname)
    page = join(read_page(current.book.page(language.code, docname)), done.notebook if done else None)
    current.lenders |= borrow(page, docname, current.machines)
    content[0] = nbformat.writes(page)


def read_notebook(text: str) -> nbformat.NotebookNode:
    """Returns the notebook that `_read` put in the place of a page."""
    return nbformat.reads(text, as_version=4)


class MarkStale(SphinxTransform):
    """Says at the head of a page that what it shows was measured before a change."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        from booktools.display import changes
        from booktools.render import page_catalogue

        done = state(self.env.app).shown(self.env.docname)
        section = next(iter(self.document.findall(nodes.section)), None)
        if done is None or not done.stale or section is None:
            return
        say = page_catalogue(self.config).translate
        text = say("This record is stale: it was measured before these changed.")
        paragraph = nodes.paragraph("", text + " ", *changes(done.stale, say))
        title = nodes.title("", say("stale"))
        section.insert(1, nodes.admonition("", title, paragraph, classes=["warning", "dl-stale-page"]))


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is not None:
        return
    current = state(app)
    if app._warncount:
        stop(app, f"{app._warncount} warning(s) above, each counts as an error")
    if app.config.language != current.book.languages[0].sphinx:
        return
    try:
        for language in current.book.languages[1:]:
            _build_language(app, language.code)
        publish(current.work / "html", current.book.build / "html")
    except BookError as problem:
        stop(app, problem)


def _build_language(app: Sphinx, code: str) -> None:
    current = state(app)
    command = [sys.executable, "-m", "booktools", "build-language", code]
    command += ["--all"] if "--all" in sys.argv else []
    command += ["--quiet"] if app.quiet else []
    done = subprocess.run(command, cwd=current.book.root, env={**os.environ, EDITION: current.edition})
    if done.returncode:
        raise BookError(f"the edition {code!r} failed: see above")


def build_language(book: Book, code: str, fresh: bool = False, quiet: bool = False) -> int:
    """Builds one further language, as `_finish` asks in a new process; returns the exit status."""
    from jupyter_book.sphinx import build_sphinx

    language = next(x for x in book.languages if x.code == code)
    overrides = {
        "language": language.sphinx,
        "external_toc_path": str(book.root / "_toc.yml"),
        "latex_individualpages": False,
    }
    result = build_sphinx(
        book.root,
        book.build / "html",
        path_config=book.root / "_config.yml",
        noconfig=True,
        confoverrides=overrides,
        freshenv=fresh,
        quiet=quiet,
    )
    return 1 if isinstance(result, Exception) else int(result)


def publish(built: Path, site: Path) -> None:
    """Puts a finished site in the place of the one before it; until the last step that one stands untouched."""
    fresh, old = site.with_name("html.new"), site.with_name("html.old")
    try:
        for left_over in (fresh, old):
            shutil.rmtree(left_over, ignore_errors=True)
        shutil.copytree(built, fresh, ignore=shutil.ignore_patterns(".buildinfo", "objects.inv.tmp", "jupyter_execute"))
        if site.exists():
            site.rename(old)
        fresh.rename(site)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if old.exists() and not site.exists():
            old.rename(site)
        raise BookError(f"{site}: the site could not be put in place ({error.strerror or error})") from None


def setup(app: Sphinx) -> None:
    """Takes the build over: see the module's docstring."""
    try:
        book = Book.find(Path(app.srcdir))
        app._booktools = State(book, os.environ.get(EDITION) or HERE)  # type: ignore[attr-defined]
        preflight(book)
    except BookError as error:
        sys.exit(f"The book was not built.\n{error}")
    app.add_config_value("booktools_languages", [], "env")
    app.add_config_value("booktools_root", str(book.root), "")
    app.add_config_value("booktools_version", "", "env")
    app.add_transform(MarkStale)
    app.connect("config-inited", _begin, priority=1)
    app.connect("env-get-outdated", _outdated)
    app.connect("source-read", _read)
    app.connect("build-finished", _finish, priority=900)
