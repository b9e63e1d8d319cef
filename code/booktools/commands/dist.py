"""Pack what readers without a network take along: ``python -m booktools.commands.dist`` writes `_build/dist`.

The site of one record, the plain notebooks, the wheel of `dlperf`, PDFs and EPUBs that were made of that site, and the
sums of all of these. Whoever packs the same commit, with the same versions of everything, gets the same bytes, in
whichever folder: the site is built from nothing, and files in zip files bear the time of the commit.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from booktools.commands.publication import choose
from booktools.executions.records import HERE, recorded_machines
from booktools.formats.archive import epoch, write_sums, write_zip
from booktools.formats.files import copy_current
from booktools.formats.offered import offering
from booktools.formats.plain_notebooks import write_all
from booktools.show.edition import EDITION, open_machines, work
from booktools.site.build import build
from booktools.source.book import Book, BookError
from booktools.source.page import pages_with_cells

SITE, NOTEBOOKS = "site", "notebooks"
"""The names of the zip files, each the name of the folder in it; the site's is followed by the record's."""


def make_dist(book: Book, name: str) -> Path:
    """Builds and packs the edition of a record, and returns the folder; BookError says what could not be built.

    An earlier folder is replaced only by a whole one.
    """
    shutil.rmtree(work(book, name), ignore_errors=True)
    with offering():
        status = build(book, name, fresh=True, quiet=True)
    if status:
        raise BookError(f"{EDITION}={name}: nothing was packed, since the site could not be built")
    part, done, when = book.build / "dist.part", book.build / "dist", epoch(book.root)
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    *_, wheel = write_all(book, book.build / "notebooks")
    packed = [
        write_zip(book.build / "html", part / f"{SITE}-{name}.zip", f"{SITE}-{name}", when),
        write_zip(book.build / "notebooks", part / f"{NOTEBOOKS}.zip", NOTEBOOKS, when),
        Path(shutil.copy(wheel, part)),
        *copy_current(book, part),
    ]
    write_sums(packed, part / "SHA256SUMS")
    shutil.rmtree(done, ignore_errors=True)
    part.rename(done)
    return done


def main() -> int:
    """Packs the edition of the record that MACHINE names, or of the one to be published; returns the exit status."""
    book = Book.find()
    try:
        name = os.environ.get(EDITION) or choose(recorded_machines(book), pages_with_cells(book)).name
        if name == HERE:
            raise BookError(f"{EDITION}={name}: what is packed is a record: make record {EDITION}=name makes one")
        open_machines(book, name)
        print(f"To pack: {name}; a minute or two to build the site, and seconds to pack it", flush=True)
        folder = make_dist(book, name)
    except BookError as error:
        print(error, file=sys.stderr)
        return 1
    for path in sorted(folder.iterdir()):
        print(f"{book.relative(path)}  {path.stat().st_size / 2**20:.1f} MiB")
    print(f"Unpack {SITE}-{name}.zip anywhere and open index.html in it: the site needs no server and no network.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
