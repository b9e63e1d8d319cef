"""Offer each page with cells as a plain notebook on the page itself, in a site that is to be passed on.

Where `_config.yml` names a repository on GitHub, the page also leads to services that run it.

`publication` and `dist` ask for it; a build for oneself does without, since it takes seconds.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from booktools.formats.archive import epoch, write_zip
from booktools.formats.plain_notebooks import write_language
from booktools.formats.wheel import write_wheel
from booktools.show.edition import OFFERED, current
from booktools.site.provenance import notebook_addresses
from booktools.source.page import pages_with_cells

PACKED = "notebooks.zip"
"""What each language's part of the site offers: a zip file, for a browser shows a notebook from a file as text."""


@contextlib.contextmanager
def offering() -> Iterator[None]:
    """Lets what is built inside the block offer notebooks."""
    before = os.environ.get(OFFERED)
    os.environ[OFFERED] = "1"
    try:
        yield
    finally:
        del os.environ[OFFERED]
        os.environ |= {OFFERED: before} if before is not None else {}


def _configure(app: Sphinx, config: Config) -> None:
    config.booktools_notebooks = bool(os.environ.get(OFFERED))


def _page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Gives the template the address of what holds the page as a notebook, and the name that it has there."""
    if app.config.booktools_notebooks and pagename in pages_with_cells(current().book):
        context["notebook"], context["notebook_name"] = context["content_root"] + PACKED, f"{pagename}.ipynb"
        context["notebook_runs"] = notebook_addresses(current().book, current().language, pagename)


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Packs the notebooks of this language with the wheel that they install."""
    if error is not None or app.builder.format != "html":
        return
    edition, path = current(), Path(app.outdir) / PACKED
    path.unlink(missing_ok=True)
    if app.config.booktools_notebooks:
        with tempfile.TemporaryDirectory() as name:
            write_language(edition.book, edition.language, Path(name))
            write_wheel(Path(name))
            write_zip(Path(name), path, path.stem, epoch(edition.book.root))


def setup(app: Sphinx) -> None:
    """Registers the setting, and what fills pages and site."""
    app.add_config_value("booktools_notebooks", False, "env")
    app.connect("config-inited", _configure, priority=1)
    app.connect("html-page-context", _page, priority=890)
    app.connect("build-finished", _finish, priority=790)
