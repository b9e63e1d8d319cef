"""Choose the recorded machine whose site is published, and build it: ``python -m booktools.commands.publication``.

Only records count that are current for more than half of the pages; where none is, those current for most. Among them a
machine with a GPU that has every page comes first. Without one it is the CPU whose record is best: that with most pages
unchanged since they were measured, then with most pages, then the latest. `cover` says on the first page whose record
is shown, and `tests.published` checks the site.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from booktools.commands.preview import current_for_most, current_pages
from booktools.executions.records import Machine, recorded_machines
from booktools.formats.offered import offering
from booktools.site.build import build
from booktools.source.book import Book, BookError
from booktools.source.page import pages_with_cells


def choose(machines: Sequence[Machine], pages: Collection[str]) -> Machine:
    """Returns the machine to be published; BookError where no record has a page."""
    found = current_for_most(machines, pages)
    if not found:
        raise BookError("there is no record to publish: make record MACHINE=name makes one")
    return max(found, key=lambda machine: _merit(machine, pages))


def _merit(machine: Machine, pages: Collection[str]) -> tuple[bool, int, int, str]:
    """Returns what ranks a machine: all pages on a GPU, current pages, pages, date."""
    executed = sum(machine.execution(page) is not None for page in pages)
    on_gpu = machine.has("cuda") and executed == len(pages)
    return on_gpu, current_pages(machine, pages), executed, str(machine.environment.get("date", ""))


def main() -> int:
    """Builds the site of the chosen machine in every language; returns the exit status."""
    book = Book.find()
    try:
        pages = pages_with_cells(book)
        machine = choose(recorded_machines(book), pages)
    except BookError as error:
        print(error, file=sys.stderr)
        return 1
    done = [execution for execution in map(machine.execution, pages) if execution]
    stale = sum(bool(execution.stale) for execution in done)
    print(f"To publish: {machine.name}, {len(done)} of {len(pages)} pages, {stale} of them stale", flush=True)
    with offering():
        return build(book, machine.name, quiet=True)


if __name__ == "__main__":
    sys.exit(main())
