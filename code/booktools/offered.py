"""Offer each page with cells as a plain notebook on the page itself, in a site that is to be passed on.

`publication` and `dist` ask for it; a build for oneself does without, since it takes seconds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from booktools.edition import OFFERED, current
from booktools.page import pages_with_cells
from booktools.plain_notebooks import wheel_name, write_language
from booktools.wheel import write_wheel

FOLDER = "notebooks"
"""Where they lie in each language's part of the site; the wheel lies in the first one's."""


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
    """Gives the template the addresses of a page's notebook and of the wheel that this installs."""
    edition = current()
    if app.config.booktools_notebooks and pagename in pages_with_cells(edition.book):
        up = "" if edition.language == edition.book.languages[0] else "../"
        root = context["content_root"]
        context["notebook"] = f"{root}{FOLDER}/{pagename}.ipynb"
        context["wheel"], context["wheel_name"] = f"{root}{up}{FOLDER}/{wheel_name()}", wheel_name()


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Writes the notebooks of this language, and with those of the first one the wheel."""
    if error is not None or app.builder.format != "html":
        return
    edition, folder = current(), Path(app.outdir) / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    if app.config.booktools_notebooks:
        write_language(edition.book, edition.language, folder)
        if edition.language == edition.book.languages[0]:
            write_wheel(folder)


def setup(app: Sphinx) -> None:
    """Registers the setting, and what fills pages and site."""
    app.add_config_value("booktools_notebooks", False, "env")
    app.connect("config-inited", _configure, priority=1)
    app.connect("html-page-context", _page, priority=890)
    app.connect("build-finished", _finish, priority=790)
