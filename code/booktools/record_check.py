"""What a maintainer wants to know of a record before it is published: ``make check-record MACHINE=name``."""

from __future__ import annotations

from dataclasses import dataclass, field

from booktools.book import Book, BookError
from booktools.claims import FAILED, HELD, NOT_RUN, STALE, all_claims, judge
from booktools.page import pages_with_cells
from booktools.privacy import suspects
from booktools.records import Machine, recorded_machines


@dataclass
class Report:
    """What was found of a record: ``said`` is for reading, ``wrong`` has to be mended before it is published."""

    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def look_at(book: Book, name: str) -> Report:
    """Returns what there is to know of the record ``name``; BookError where there is none, or it cannot be read."""
    machines = {machine.name: machine for machine in recorded_machines(book)}
    if name not in machines:
        raise BookError(f"records/{name}: no such record; there are {', '.join(machines) or 'none'}")
    machine, report = machines[name], Report()
    if not machine.executions:
        raise BookError(f"records/{name}: nothing is recorded there; make record MACHINE={name} does it")
    environment = machine.environment
    gpus = ", ".join(environment["gpus"]) or "no GPU"
    report.said.append(f"{name}: {environment['cpu']}, {environment['cores']} cores, {gpus}; {environment['date']}")
    _whole(book, machine, report)
    _claims(book, machine, report)
    for page, done in machine.executions.items():
        found = [done.notebook.metadata, *(cell.get("outputs", []) for cell in done.notebook.cells)]
        report.wrong += [f"{page}: {each}" for each in sorted(set(suspects(found)))]
    return report


def _whole(book: Book, machine: Machine, report: Report) -> None:
    pages = pages_with_cells(book)
    if missing := [page for page in pages if page not in machine.executions]:
        report.wrong.append(f"not recorded: {', '.join(missing)}")
    for page, done in machine.executions.items():
        if done.stale:
            report.wrong.append(f"{page}: changed since it was recorded: {', '.join(done.stale)}")
        if not done.reading.whole:
            report.wrong.append(f"{page}: not every cell has run")
    seconds = {page: done.seconds for page, done in machine.executions.items()}
    report.said.append(f"{len(seconds)} of {len(pages)} pages, {sum(seconds.values()):.0f} s in all")


def _claims(book: Book, machine: Machine, report: Report) -> None:
    verdicts = {claim.id: (claim, judge(claim, machine).outcome) for claim in all_claims(book).values()}
    counts = [sum(found == kind for _, found in verdicts.values()) for kind in (HELD, FAILED, NOT_RUN, STALE)]
    kinds = zip(counts, (HELD, FAILED, NOT_RUN, STALE), strict=True)
    report.said.append("claims: " + ", ".join(f"{count} {kind}" for count, kind in kinds))
    for name, (claim, found) in verdicts.items():
        if found == FAILED:
            expected = "which its page explains" if machine.name in claim.fails_on else "of which its page says nothing"
            report.said.append(f"  failed, {expected}: {name}")


def check_record(book: Book, name: str) -> int:
    """Prints what there is to know of a record; returns 1 where something has to be mended, else 0."""
    report = look_at(book, name)
    print("\n".join(report.said))
    for each in report.wrong:
        print(f"to mend: {each}")
    if not report.wrong:
        print(f"Complete, current, and nothing private was found. Send the folder records/{name}.")
    return int(bool(report.wrong))
