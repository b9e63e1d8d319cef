"""Say what a build will do and how long it may take: as a plan when it starts, and as each of its steps begins."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tqdm import tqdm

from booktools.executions.executions import expected_seconds
from booktools.source.book import Book

CHECK = "checking the sources"
EXECUTE = "executing {count}, one after another"
WRITE = "writing the pages in {languages}"
OTHERS_S = 150
"""Seconds for all but executing: the first check takes half a minute, to write all pages takes two minutes."""


class Plan:
    """The steps of a build that executes ``pages`` of a book; `text` is the whole, `begin` the next of them."""

    def __init__(self, book: Book, pages: Sequence[str]) -> None:
        languages = " and ".join(each.name for each in book.languages)
        self.steps = [(CHECK, "seconds; half a minute the first time")]
        known = {page: seconds for page in pages if (seconds := expected_seconds(book, page))}
        self.seconds = sum(known.values())
        if pages:
            count = f"{len(pages)} {'page' if len(pages) == 1 else 'pages'}"
            self.steps.append((EXECUTE.format(count=count), _as_recorded(pages, known)))
        write = WRITE.format(languages=languages)
        self.steps.append((write, "one to two minutes; seconds where nothing has changed"))
        self.begun = 0

    def text(self) -> str:
        """Returns the plan: how long all of it may take, and a line for each step."""
        minutes = math.ceil((self.seconds + OTHERS_S) / 60)
        lines = [f"What follows, in about {minutes} minutes, or fewer where little has changed:"]
        return "\n".join(lines + [f"  {n}. {what}: {long}" for n, (what, long) in enumerate(self.steps, 1)])

    def begin(self) -> str:
        """Returns the line that says which step begins: the first, and at each further call the next."""
        self.begun += 1
        return f"[{self.begun}/{len(self.steps)}] {self.steps[self.begun - 1][0]}"


def _as_recorded(pages: Sequence[str], known: dict[str, float]) -> str:
    """Returns how long pages take, by the slowest recorded machine, and for how many of them no record says."""
    if not known:
        return "no record says how long"
    about = f"about {tqdm.format_interval(sum(known.values()))}, as long as the slowest recorded machine took"
    unknown = len(pages) - len(known)
    return f"{about}, and {unknown} of which no record says how long" if unknown else about
