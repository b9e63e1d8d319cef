"""What stands beside the pages: nothing that no page asks for, and no page that the book no longer has."""

from __future__ import annotations

import shutil
from pathlib import Path

from sphinx.application import Sphinx

from booktools.addresses import UNLISTED
from booktools.edition import current

UNUSED = [
    "sphinx-thebe.*",
    "copybutton*.*",
    "copy-button.svg",
    "check-solid.svg",
    "play-solid.svg",
    "clipboard.min.js",
    "togglebutton.*",
    "exercise.css",
    "mystnb.*.css",
    "design-tabs.js",
    "translations.js",
    "scripts",
    "locales",
    "images",
    "*webpack-macros.html",
]
"""What extensions that Jupyter Book loads put into `_static`, and no page asks for."""


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Removes what is unused from `_static`, and pages that the book no longer has."""
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for name in UNUSED:
        for path in static.glob(name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(static / "mathjax", ignore_errors=True)  # of builds before formulas were MathML
    _forget_pages(app, {language.code for language in current().book.languages})


def _forget_pages(app: Sphinx, languages: set[str]) -> None:
    """Removes pages of earlier builds that the book no longer has."""
    for path in Path(app.outdir).rglob("*.html"):
        name = path.relative_to(app.outdir)
        if name.parts[0] not in languages and name.with_suffix("").as_posix() not in {*app.env.found_docs, *UNLISTED}:
            path.unlink()


def setup(app: Sphinx) -> None:
    """Registers what completes a build."""
    app.connect("build-finished", _finish, priority=800)
