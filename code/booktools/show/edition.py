"""Hold one edition (a machine, a language) while it is built, and note what each of its pages has seen.

A page is read anew when something that it saw has changed: an execution, a record, a property of a
machine, its claims, a label. What it sees is noted as it asks, so nothing has to be declared.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from booktools.claims.claims import NOT_RUN, Claim, Outcome, all_outcomes, look
from booktools.executions.executions import Execution
from booktools.executions.records import HERE, Machine, all_machines, page_of
from booktools.show.catalogue import Catalogue, catalogue
from booktools.source.book import Book, BookError, Language
from booktools.source.cache import digest
from booktools.source.page import pages_with_cells

FORCED = "BOOKTOOLS_OUTCOME"
"""The environment variable by which tests see the text of one outcome wherever it can be: held, failed or not-run."""
EDITION = "MACHINE"
"""The environment variable that names the machine whose record is shown; unset, the site shows this machine's."""

OFFERED = "BOOKTOOLS_NOTEBOOKS"
"""The environment variable by which a build offers each page as a plain notebook, too (`offered`)."""

Note = Callable[[str, str], None]
Seen = dict[tuple[str, str], str]


class Watched(dict[str, Any]):
    """A dictionary that notes each key that it is asked for."""

    def __init__(self, values: Mapping[str, Any], note: Callable[[str], None]) -> None:
        super().__init__(values)
        self.note = note

    def __getitem__(self, key: str) -> Any:
        self.note(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.note(str(key))
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.note(key)
        return super().get(key, default)


@dataclass(frozen=True)
class WatchedMachine(Machine):
    """A machine that notes what it is asked for."""

    note: Note

    @functools.cached_property
    def environment(self) -> dict[str, Any]:
        return Watched(super().environment, lambda key: self.note("environment", f"{self.name} {key}"))

    @functools.cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        return Watched(super().records, lambda key: self.note("record", f"{self.name} {key}"))

    def execution(self, page: str) -> Execution | None:
        self.note("page", f"{self.name} {page}")
        return super().execution(page)

    def stale(self, key: str) -> tuple[str, ...]:
        self.note("stale", f"{self.name} {key}")
        return super().stale(key)

    def changed(self) -> tuple[str, ...]:
        self.note("changed", self.name)
        return super().changed()


@dataclass
class Edition:
    """What one run of Sphinx knows of the book: ``name`` is the machine's whose outputs it shows."""

    book: Book
    language: Language
    name: str
    plain: list[Machine]
    outcomes: dict[str, Outcome]
    catalogue: Catalogue
    lenders: dict[str, str] = field(default_factory=dict)  # by key: whose value is shown where this machine has none
    seen: Seen = field(default_factory=dict)

    @functools.cached_property
    def watched(self) -> list[Machine]:
        """Every machine, as pages ask them."""
        return [WatchedMachine(machine.name, machine.executions, self.note) for machine in self.plain]

    @property
    def machines(self) -> list[Machine]:
        """Every machine of this edition; the one that builds, or whose edition this is, comes first."""
        self.note("machines", "")
        return self.watched

    @property
    def work(self) -> Path:
        """The folder in which this edition is built before it is published."""
        return work(self.book, self.name)

    def claim(self, identity: str) -> Claim | None:
        """Returns a claim by its id."""
        self.note("claims", identity.partition(".")[0])
        found = self.outcomes.get(identity)
        return found if isinstance(found, Claim) else None

    def outcome(self, identity: str) -> str | None:
        """Returns how a claim or outcome stands on the machine whose values the page shows: held, failed or not run.

        Where this edition's machine could not run it, that is another's, from which the page borrows: one that
        executed its present cells. None for an unknown id.
        """
        self.note("claims", identity.partition(".")[0])
        if (known := self.outcomes.get(identity)) is None:
            return None
        self.note("forced", "")
        self.note("machines", "")
        first = self.source(page_of(identity))
        ours = [first] if first else []
        theirs = [m for m in self.watched if m is not first and "cells" not in m.stale(identity)]
        found = (look(known, machine).outcome for machine in (*ours, *theirs))
        outcome = next((outcome for outcome in found if outcome != NOT_RUN), NOT_RUN)
        forced = os.environ.get(FORCED, "").replace("-", " ")
        return forced if forced and (known.needs if forced == NOT_RUN else outcome != NOT_RUN) else outcome

    def source(self, page: str) -> Machine | None:
        """Returns the machine whose execution a page shows: this edition's, else the first current one, else the first.

        A record may be older than a page. Where the machine that builds has no execution, nobody stands in for it.
        """
        ours = [machine for machine in self.watched if machine.name == self.name]
        if self.name == HERE or any(machine.execution(page) for machine in ours):
            return next(iter(ours), None)
        self.note("machines", "")  # one more may be the first
        asked = [(machine, machine.execution(page)) for machine in self.watched]
        found = [(machine, done) for machine, done in asked if done]
        return next((machine for machine, done in found if not done.stale), found[0][0] if found else None)

    def shown(self, page: str) -> Execution | None:
        """Returns the execution whose outputs the page shows."""
        machine = self.source(page)
        return machine.execution(page) if machine else None

    def note(self, kind: str, name: str) -> None:
        """Notes that the page that is being read has seen something."""
        if (kind, name) not in self.seen:
            self.seen[kind, name] = self.state(kind, name)

    def open_page(self) -> None:
        """Begins to note what a page sees."""
        self.seen = {}
        self.catalogue.seen.clear()

    def close_page(self) -> Seen:
        """Returns what the page has seen."""
        return self.seen | {("label", text): str(found) for text, found in self.catalogue.seen.items()}

    def is_outdated(self, seen: Seen) -> bool:
        """Returns whether anything of what a page saw is no longer as it was."""
        return any(self.state(kind, name) != then for (kind, name), then in seen.items())

    def state(self, kind: str, name: str) -> str:
        """Returns a mark of what a page sees when it asks for this."""
        if kind == "label":
            return str(self.catalogue.entries.get(name))
        if kind == "forced":
            return os.environ.get(FORCED, "")
        if kind == "machines":
            return digest(*(machine.name for machine in self.plain))
        if kind == "claims":
            path = self.book.chapters / "claims" / f"{name}.py"
            return digest(path.read_bytes() if path.is_file() else b"")
        owner, _, key = name.partition(" ")
        machine = next((machine for machine in self.plain if machine.name == owner), None)
        return digest(repr(_asked(machine, kind, key))) if machine else "gone"


def _asked(machine: Machine, kind: str, key: str) -> object:
    if kind == "record":
        return machine.records.get(key)
    if kind == "environment":
        return machine.environment.get(key)
    if kind == "stale":
        return machine.stale(key)
    if kind == "changed":
        return machine.changed()
    done = machine.execution(key)
    return done and (done.reading.digest, done.stale)


def work(book: Book, name: str) -> Path:
    """Returns the folder in which an edition is built before it is published."""
    return book.build / "work" / name


def html_of(book: Book, language: Language, name: str) -> Path:
    """Returns the folder into which an edition in one language is built."""
    first = language == book.languages[0]
    return work(book, name) / "html" / ("" if first else language.code)


def doctrees_of(book: Book, language: Language, name: str) -> Path:
    """Returns the folder of what Sphinx remembers of an edition in one language."""
    return work(book, name) / "doctrees" / language.code


def finished_of(book: Book, language: Language, name: str) -> Path:
    """Returns the file that says what an edition in one language was built of; there is none while it is built."""
    return doctrees_of(book, language, name) / "finished"


def labels_of(book: Book, language: Language) -> Catalogue:
    """Returns the catalogue of a language; the first has none."""
    return catalogue(None if language == book.languages[0] else book.chapters / f"labels.{language.code}.po")


def open_machines(book: Book, name: str) -> list[Machine]:
    """Returns the machines of an edition.

    BookError names a record that cannot be read or is empty, or pages that no record has.
    """
    machines = all_machines(book, name)
    if name == HERE:
        return machines
    pages = pages_with_cells(book)
    done = {each.name: [page for page in pages if each.execution(page)] for each in machines}
    if name not in done:
        raise BookError(f"{EDITION}={name}: no such machine under records/; there are: {', '.join(done) or 'none'}")
    if not done[name]:
        others = ", ".join(each for each, some in done.items() if some) or "none"
        raise BookError(f"{EDITION}={name}: its record has no page; there are records with pages of: {others}")
    if lacking := set(pages).difference(*done.values()):
        raise BookError(
            f"{EDITION}={name}: no record has {', '.join(sorted(lacking))}, so no edition but this machine's can be "
            "shown; record a machine anew"
        )
    return machines


def open_edition(book: Book, language: Language, name: str) -> Edition:
    """Returns an edition that is ready to be built; BookError says what of it cannot be read."""
    return Edition(book, language, name, open_machines(book, name), all_outcomes(book), labels_of(book, language))


_current: list[Edition] = []


def begin(edition: Edition) -> None:
    """Makes an edition the one that this process builds; there is one in a process."""
    _current[:] = [edition]


def current() -> Edition:
    """Returns the edition that this process builds."""
    return _current[0]


def is_begun() -> bool:
    """Returns whether this process builds an edition."""
    return bool(_current)
