"""Build the site of the record nearest to this machine, executing nothing: ``python -m booktools.commands.preview``.

For whoever wants to read first. `nearest` has the rule; `publication` has another, for a site that all read.
"""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from booktools.executions.records import HERE, Machine, recorded_machines
from booktools.show.edition import EDITION, open_machines
from booktools.site.build import build
from booktools.source.book import Book, BookError
from booktools.source.page import pages_with_cells
from dlperf import environment


def here() -> dict[str, Any]:
    """Returns what is compared of this machine with records: values named as in their environment."""
    return {
        "cpu": environment.cpu_model(),
        "microarchitecture": environment.microarchitecture(),
        "cores": environment.cores(),
        "gpus": environment.gpus(),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def nearest(machines: Sequence[Machine], pages: Collection[str], this: Mapping[str, Any]) -> Machine:
    """Returns the machine whose record is shown on ``this`` one; BookError where no record has a page.

    1. Only records count that are current for more than half of the pages; where none is, those current for most.
    2. A record with a GPU if ``this`` has one, else one without; where there is none of that kind, any.
    3. The least distance: on a GPU its model, its maker, the number of GPUs; then the CPU's architecture, its maker,
       the number of cores as a ratio, its microarchitecture.
    4. Of equals the one current for more pages, then the first by name.
    """
    found = current_for_most(machines, pages)
    if not found:
        raise BookError("there is no record to show: make record MACHINE=name makes one, make book executes the pages")
    alike = [machine for machine in found if machine.has("cuda") == bool(this["gpus"])]
    return min(
        alike or found, key=lambda each: (distance(each.environment, this), -current_pages(each, pages), each.name)
    )


def current_for_most(machines: Sequence[Machine], pages: Collection[str]) -> list[Machine]:
    """Returns the machines whose records are current for more than half of the pages.

    Where none is, those that are current for most; an empty list where no record has a page.
    """
    found = {
        machine.name: current_pages(machine, pages)
        for machine in machines
        if any(machine.execution(page) for page in pages)
    }
    enough = min(len(pages) // 2 + 1, max(found.values(), default=0))
    return [machine for machine in machines if found.get(machine.name, -1) >= enough]


def distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[float, ...]:
    """Returns how far two machines are apart, the weightiest difference first: 0 where there is none.

    Both are environments as `dlperf.environment` gives them. Numbers are compared by the factor between them, so that
    2 and 4 cores are as far apart as 8 and 16.
    """
    ours, theirs = one.get("gpus") or [], other.get("gpus") or []
    gpus = (0.0, 0.0, 0.0)
    if ours and theirs:
        gpus = (float(ours[0] != theirs[0]), float(maker(ours[0]) != maker(theirs[0])), ratio(len(ours), len(theirs)))
    return (
        *gpus,
        float(architecture(one) != architecture(other)),
        float(maker(str(one.get("cpu"))) != maker(str(other.get("cpu")))),
        ratio(one.get("cores", 1), other.get("cores", 1)),
        float(one.get("microarchitecture") != other.get("microarchitecture")),
    )


def architecture(machine: Mapping[str, Any]) -> str:
    """Returns the instruction set of a machine, by the last word of its operating system: ``x86_64``, ``arm64``."""
    name = str(machine.get("os", "")).rpartition(" ")[2].lower()
    return {"amd64": "x86_64", "aarch64": "arm64"}.get(name, name)


def maker(name: str) -> str:
    """Returns the maker of a processor or GPU: the first word of its name, such as ``amd``, without marks."""
    return name.partition(" ")[0].partition("(")[0].lower()


def ratio(one: int, other: int) -> float:
    """Returns how far apart two counts are, in doublings."""
    return abs(math.log2(max(one, 1) / max(other, 1)))


def current_pages(machine: Machine, pages: Collection[str]) -> int:
    """Returns for how many of the pages a machine has an execution that is not stale."""
    return sum(not done.stale for done in map(machine.execution, pages) if done)


def described(machine: Mapping[str, Any]) -> str:
    """Returns a machine in words: its GPUs, its processor, the number of its cores, its architecture."""
    gpus = ", ".join(machine.get("gpus") or []) or "no GPU"
    cores = machine.get("cores", 1)
    return f"{gpus}; {machine.get('cpu')}, {cores} {'core' if cores == 1 else 'cores'}, {architecture(machine)}"


def reasons(shown: Machine, machines: Sequence[Machine], pages: Sequence[str], this: Mapping[str, Any]) -> list[str]:
    """Returns why this record is shown, as lines, and which pages are stale or another machine's."""
    date = str(shown.environment.get("date", ""))[:10]
    lines = [
        f"Shown: {shown.name} ({described(shown.environment)}), recorded {date}.",
        f"This machine: {described(this)}.",
    ]
    count = current_pages(shown, pages)
    lines.append(
        f"Of the records that are current for most pages, this one for {count} of {len(pages)}, it is the nearest."
    )
    if this["gpus"] and not shown.has("cuda"):
        stale = [each.name for each in machines if each.has("cuda")]
        lines += [f"Stale on more pages: {name}, with a GPU. MACHINE={name} shows it." for name in stale]
    for page in pages:
        done = shown.execution(page)
        if done is None:
            lines.append(f"{page}: not in this record; the page shows another machine's, and says so.")
        elif done.stale:
            lines.append(f"records/{shown.name}/{page}.ipynb is stale; changed since: {', '.join(done.stale)}")
    return lines


def main() -> int:
    """Builds the site of the nearest record, or of that which MACHINE names; returns the exit status."""
    book = Book.find()
    try:
        pages, this = pages_with_cells(book), here()
        if named := os.environ.get(EDITION):
            machines = open_machines(book, named)
            shown = next((each for each in machines if each.name == named), None)
        else:
            machines = recorded_machines(book)
            shown = nearest(machines, pages, this)
    except BookError as error:
        print(error, file=sys.stderr)
        return 1
    if shown is None or shown.name == HERE:
        print(f"{EDITION}={named}: a preview shows a record; make book executes the pages here", file=sys.stderr)
        return 2
    lines = reasons(shown, machines, pages, this)
    print("\n".join([*lines[:2], f"{EDITION}={named} names it.", *lines[3:]] if named else lines))
    print("Nothing is executed.", flush=True)
    if status := build(book, shown.name, quiet=True, planned=True):
        return status
    first = book.languages[0]
    for language in book.languages:
        folder = book.build / "html" / ("" if language == first else language.code)
        print(f"{language.name}: open {folder / 'index.html'}")
    print("These are another machine's numbers; make book measures yours.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
