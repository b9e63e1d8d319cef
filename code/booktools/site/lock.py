"""Lock a book's build folder: two builds in one folder would spoil each other's work."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator

from booktools.source.book import Book


@contextlib.contextmanager
def locked(book: Book) -> Iterator[int]:
    """Holds the book's lock while the block runs, after waiting for whoever holds it; yields its descriptor.

    A process that inherits the descriptor holds the lock as well: what a killed build has left
    running is waited for, too. The system lets go of it when all of them have ended.
    """
    with (book.build / "lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            other = file.read().strip() or "unknown"
            print(f"Another build of this book is under way (process {other}); this one waits for it.",
                  file=sys.stderr, flush=True)  # fmt: skip
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield file.fileno()
