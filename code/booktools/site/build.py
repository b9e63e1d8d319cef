"""Build all languages: check, execute what is stale, build what changed, publish the whole or nothing.

Each language is built in a process of its own, those that changed side by side. Only when all have
succeeded does `_build/html` change.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from booktools.checks.check import check
from booktools.checks.parity import missing
from booktools.claims.claims import Outcome, all_outcomes, judge
from booktools.executions.fingerprint import all_modules
from booktools.executions.prepare import not_executed, waiting
from booktools.executions.records import HERE, Machine, recorded_machines
from booktools.show.edition import EDITION, FORCED, OFFERED, finished_of, open_machines, work
from booktools.site.disk_space import FULL, check_disk_space, insufficient_space_error, is_full
from booktools.site.lock import locked
from booktools.site.plan import Plan
from booktools.site.publish import mend, publish
from booktools.source.book import Book, BookError, Language
from booktools.source.cache import digest, digest_of_files, toolchain_hash
from booktools.source.page import source
from dlperf.environment import machine

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def build(book: Book, name: str = HERE, fresh: bool = False, quiet: bool = False, planned: bool = False) -> int:
    """Builds and publishes an edition of the book in every language; returns the exit status.

    ``name`` is the machine whose outputs are shown, ``fresh`` forgets what was built before. ``quiet`` says nothing of
    what is found and written; ``planned`` says what will be done, and which step begins. An error is one message, and
    leaves the site that was there.
    """
    folder = work(book, name)
    try:
        check_disk_space(book, folder)
        with locked(book) as lock:
            mend(_site(book))
            _build(book, name, lock, fresh, quiet, planned)
        return 0
    except KeyboardInterrupt:
        print("\nStopped. The site that was there is untouched.", file=sys.stderr, flush=True)
        return 130
    except (BookError, OSError) as error:
        if isinstance(error, OSError) and not is_full(error):
            raise
        shown = insufficient_space_error(book, folder) if isinstance(error, OSError) else error
        print(f"\nThe book was not built; the site that was there is untouched.\n{shown}", file=sys.stderr, flush=True)
        return 1


def take_over(app: Sphinx) -> NoReturn:
    """Builds the book in which plain ``jupyter-book build .`` was called, and ends that."""
    try:
        book = Book.find(Path(app.srcdir))
    except BookError as error:
        sys.exit(str(error))
    sys.exit(build(book, os.environ.get(EDITION) or HERE, fresh="--all" in sys.argv, quiet=app.quiet, planned=True))


def _site(book: Book) -> Path:
    return book.build / "html"


def _build(book: Book, name: str, lock: int, fresh: bool, quiet: bool, planned: bool) -> None:
    if lacking := missing(book):
        raise BookError("\n".join(lacking))
    published = book.build / "published"
    made_of = digest(*_marks(book, name).values())
    if not fresh and _site(book).is_dir() and published.is_file() and published.read_text() == made_of:
        _say(quiet, f"Nothing has changed since the site was built: {_site(book) / 'index.html'}")
        return
    plan = _plan(book, name)
    _say(not planned, f"{plan.text()}\n{plan.begin()}")
    check(book)
    claims = all_outcomes(book)
    judge_all(claims, recorded_machines(book))
    if name == HERE and (pages := waiting(book)):
        # Where there is nothing to execute, it need not be loaded.
        from booktools.executions.execute import execute_all

        _say(not planned, plan.begin())
        execute_all(book, pages)
    machines = open_machines(book, name)
    judge_all(claims, machines)
    for machine_, page, changed in stale(machines):
        _say(quiet, f"records/{machine_}/{page}.ipynb is stale; changed since: {', '.join(changed)}")
    marks = _marks(book, name)
    languages = [each for each in book.languages if fresh or _finished(book, each, name) != marks[each]]
    with contextlib.suppress(FileNotFoundError):
        published.unlink()
    _say(not planned, plan.begin())
    _build_languages(book, languages, name, marks, lock, fresh, quiet)
    publish(work(book, name) / "html", _site(book))
    published.write_text(digest(*marks.values()), encoding="utf-8")
    _say(quiet, f"The book is built: {_site(book) / 'index.html'}")


def _plan(book: Book, name: str) -> Plan:
    """Returns what a build will do; where a page cannot be read, only its steps: what is wrong the check says."""
    try:
        return Plan(book, not_executed(book) if name == HERE else [])
    except BookError:
        return Plan(book, [])


def _say(quiet: bool, text: str) -> None:
    if not quiet:
        print(text, flush=True)


def _texts(book: Book) -> list[Path]:
    return [path for path in book.chapters.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def _marks(book: Book, name: str) -> dict[Language, str]:
    """Returns a mark of all that an edition in each language is built of."""
    codes = {language.code for language in book.languages}
    shared = [path for path in _texts(book) if path.relative_to(book.chapters).parts[0] not in codes]
    shared += [book.root / name for name in ("_config.yml", "_toc.yml", "requirements.txt", "CITATION.cff")]
    shared += book.records.rglob("*.ipynb")
    if name == HERE:
        shared += book.notebooks.glob("*.ipynb")
    cells = [repr([(cell.source, cell.options) for cell in source(book, page).cells]) for page in book.pages]
    common = digest(
        name,
        os.environ.get(FORCED, ""),
        os.environ.get(OFFERED, ""),
        toolchain_hash(),
        repr(machine()),
        *cells,
        digest_of_files(book.root, shared),
        all_modules(),
    )
    return {
        language: digest(common, _digest_of_folder(book, book.chapters / language.code)) for language in book.languages
    }


def _digest_of_folder(book: Book, folder: Path) -> str:
    return digest_of_files(book.root, (path for path in folder.rglob("*") if path.is_file()))


def _finished(book: Book, language: Language, name: str) -> str:
    path = finished_of(book, language, name)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def judge_all(claims: Mapping[str, Outcome], machines: list[Machine]) -> None:
    """Raises BookError if the predicate of a claim raises on one of the machines."""
    for each in machines:
        for claim in claims.values():
            judge(claim, each)


def stale(machines: list[Machine]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yields every execution that is no longer its page's: machine, page, and what has changed since."""
    for each in machines:
        for page, done in each.executions.items():
            if done.stale:
                yield each.name, page, done.stale


def _build_languages(
    book: Book, languages: list[Language], name: str, marks: dict[Language, str], lock: int, fresh: bool, quiet: bool
) -> None:
    """Builds languages side by side; BookError if one of them fails, after all have said what is wrong."""
    with contextlib.ExitStack() as processes:
        started = []
        for number, language in enumerate(languages):
            command = [sys.executable, "-m", "booktools", "build-language", language.code, marks[language]]
            command += ["--all"] * fresh + ["--quiet"] * (quiet or number > 0)  # One of them is enough to be followed.
            started.append((language, processes.enter_context(_process(command, book, name, lock))))
        results = {language: process.wait() for language, process in started}
    if FULL in results.values():
        raise insufficient_space_error(book, work(book, name))
    if failed := [language.name for language, status in results.items() if status]:
        raise BookError(f"{' and '.join(failed)} could not be built: see above")


@contextlib.contextmanager
def _process(command: list[str], book: Book, name: str, lock: int) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a command beside this process, out of reach of its terminal's Ctrl-C, and never beyond the block."""
    environment = {**os.environ, EDITION: name}
    process = subprocess.Popen(command, cwd=book.root, env=environment, pass_fds=[lock], start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
