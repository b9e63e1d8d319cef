"""Check the free disk space before a build, and recognise errors of a disk that filled up during one."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import tempfile
from pathlib import Path

from booktools.source.book import Book, BookError

FIXED = 12 * 2**20
"""Bytes of a build that no page adds to: MathJax, styles, indices."""
PER_BYTE = 8
"""Bytes that one language needs for each byte of the notebooks that it shows: what Sphinx remembers, and the pages."""
FULL = 28
"""The exit status of a process that found no room."""


def is_full(error: BaseException | None) -> bool:
    """Returns whether an error came about because there was no room, directly or through others."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if isinstance(error, shutil.Error) and f"[Errno {errno.ENOSPC}]" in str(error):  # Of many files, as words.
            return True
        error = error.__cause__ or error.__context__
    return False


class InsufficientSpaceFilter(logging.Filter):
    """Holds back log records that say that there was no room, and notes in ``seen`` that there was one.

    Sphinx makes a warning of the error where it writes a page or copies a file, and goes on.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether a record says anything else."""
        said = record.getMessage()
        if any(os.strerror(number) in said for number in (errno.ENOSPC, errno.EDQUOT)):
            self.seen = True
            return False
        return True


def needed(book: Book, work: Path) -> int:
    """Returns about how many bytes a build in ``work`` will add below `_build`, for all languages and their site."""
    folders = [book.notebooks, *book.records.glob("*")]
    shown = max((_size(folder) for folder in folders if folder.is_dir()), default=0)
    whole = FIXED + PER_BYTE * len(book.languages) * (shown + _size(book.chapters))
    return max(whole - _size(work), 2 * _size(work / "html"), FIXED // 4)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def check_disk_space(book: Book, work: Path) -> None:
    """Raises BookError unless `_build` can be written and has room, before anything is begun."""
    folder = book.build
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        if is_full(error):
            raise insufficient_space_error(book, work) from None
        raise BookError(
            f"{folder}: cannot be written ({error.strerror}); make it a folder that this user may write"
        ) from None
    if shutil.disk_usage(folder).free < needed(book, work):
        raise insufficient_space_error(book, work)


def insufficient_space_error(book: Book, work: Path) -> BookError:
    """Returns the error that says how much room there is, and how much a build needs."""
    free, need = shutil.disk_usage(book.build).free, needed(book, work)
    return BookError(
        f"{book.build}: only {free // 2**20} MiB are free, a build needs about {-(-need // 2**20)} MiB more; "
        f"make room there, or let {os.path.basename(book.build)} be a link to where there is some"
    )
