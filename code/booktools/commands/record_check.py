"""Report whether a record is fit to be published: ``make check-record MACHINE=name``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from booktools.claims.claims import FAILED, HELD, NOT_RUN, STALE, all_claims, judge
from booktools.commands.privacy import suspects
from booktools.executions import canary
from booktools.executions.records import Machine, recorded_machines
from booktools.source.book import Book, BookError
from booktools.source.kernel import KEY
from booktools.source.page import pages_with_cells


@dataclass
class Report:
    """What was found of a record: ``said`` is for reading, ``wrong`` has to be mended before it is published."""

    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def report_on(book: Book, name: str) -> Report:
    """Returns what there is to know of the record ``name``; BookError where there is none, or it cannot be read."""
    machines = {machine.name: machine for machine in recorded_machines(book)}
    if name not in machines:
        raise BookError(f"records/{name}: no such record; there are: {', '.join(machines) or 'none'}")
    machine, report = machines[name], Report()
    if not machine.executions:
        raise BookError(f"records/{name}: nothing is recorded there; make record MACHINE={name} does it")
    environment = machine.environment
    made_of = [environment.get("cpu"), f"{environment.get('cores')} cores", *environment.get("gpus", [])]
    versions = [f"Python {environment.get('python')}", f"PyTorch {environment.get('torch')}"]
    report.said.append(", ".join(map(str, [f"{name}: {made_of[0]}", *made_of[1:], *versions, environment.get("date")])))
    _is_whole(book, machine, report)
    _was_itself(machine, report)
    _claims(book, machine, report)
    for page, done in machine.executions.items():
        found = [done.notebook.metadata, *(cell.get("outputs", []) for cell in done.notebook.cells)]
        report.wrong += [f"{page}: it may be private: {each}" for each in sorted(set(suspects(found)))]
    return report


def _is_whole(book: Book, machine: Machine, report: Report) -> None:
    """Adds which pages are missing, unfinished or older than the book, and the seconds of all."""
    pages = pages_with_cells(book)
    if missing := [page for page in pages if page not in machine.executions]:
        report.wrong.append(f"not recorded: {', '.join(missing)}; PAGES=… adds pages")
    for page, done in machine.executions.items():
        if done.stale:
            report.wrong.append(f"{page}: changed since it was recorded: {', '.join(done.stale)}")
        if not done.reading.whole:
            report.wrong.append(f"{page}: not every cell has run")
    seconds = sum(done.seconds for done in machine.executions.values())
    report.said.append(f"{len(machine.executions)} of {len(pages)} pages, {seconds:.0f} s in all")


def _was_itself(machine: Machine, report: Report) -> None:
    """Adds what the canary says of each page, and of which pages it says nothing."""
    marks = {page: done.notebook.metadata.get(KEY, {}) for page, done in machine.executions.items()}
    songs = {page: mark[canary.KEY] for page, mark in marks.items() if canary.KEY in mark}
    at_best = canary.best(songs.values())
    for page, song in songs.items():
        report.said += [f"  the machine was not itself, {page}: {why}" for why in canary.unsettled(song, at_best)]
    if silent := sorted(marks.keys() - songs.keys()):
        report.said.append(f"  no canary (recorded long ago, or by a kit whose canary failed): {', '.join(silent)}")


def _claims(book: Book, machine: Machine, report: Report) -> None:
    """Adds how many claims hold, fail, were not run or are stale, and which fail."""
    verdicts = {name: judge(claim, machine) for name, claim in all_claims(book).items()}
    counts = Counter(verdict.outcome for verdict in verdicts.values())
    report.said.append("claims: " + ", ".join(f"{counts[kind]} {kind}" for kind in (HELD, FAILED, NOT_RUN, STALE)))
    for name, verdict in verdicts.items():
        if verdict.outcome == FAILED:
            report.said.append(f"  failed{', a close one' if verdict.close else ''}: {name}")


def check_record(book: Book, name: str) -> int:
    """Prints what there is to know of a record; returns 1 where something has to be mended, else 0."""
    report = report_on(book, name)
    print("\n".join(report.said))
    for each in report.wrong:
        print(f"to mend: {each}")
    if not report.wrong:
        print(f"Complete, current, and nothing private was found. Send the folder records/{name}.")
    return int(bool(report.wrong))
