"""Build again on every save, and show the site in the browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from livereload import Server

from booktools.source.book import Book


def serve(book: Book, port: int) -> None:
    """Serves the site at ``port`` of this machine; a save of a page, a module or a style builds it again.

    A build that fails says so in the terminal and leaves the last good site on show.
    """

    def build() -> None:
        subprocess.run(
            [str(Path(sys.executable).with_name("jupyter-book")), "build", str(book.root), "-q"], cwd=book.root
        )

    build()
    server = Server()
    for pattern in (
        "chapters/**/*",
        "code/**/*.py",
        "code/booktools/site/theme/**/*",
        "_config.yml",
        "_toc.yml",
        "records/**/*",
    ):
        server.watch(str(book.root / pattern), build, delay=1)
    print(f"the site: http://127.0.0.1:{port}/  (stop with Ctrl-C)")
    server.serve(root=str(book.build / "html"), port=port, host="127.0.0.1", open_url_delay=None)
