"""Copy and prune static assets: MathJax once for all languages, and nothing that no page asks for."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from sphinx.application import Sphinx

from booktools.show.edition import current
from booktools.source.book import BookError

MATHJAX = ("tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions")
"""What a browser may ask of MathJax: the program, its fonts, and rarer macros."""
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
    """Completes `_static`: MathJax once, nothing unused; removes pages that the book no longer has."""
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for name in UNUSED:
        for path in static.glob(name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    book = current().book
    _forget_pages(app, {language.code for language in book.languages})
    if current().language == book.languages[0]:
        _copy_mathjax(static / "mathjax")


def _forget_pages(app: Sphinx, languages: set[str]) -> None:
    """Removes pages of earlier builds that the book no longer has."""
    for path in Path(app.outdir).rglob("*.html"):
        name = path.relative_to(app.outdir)
        if name.parts[0] not in languages and name.with_suffix("").as_posix() not in {*app.env.found_docs, "search"}:
            path.unlink()


def _copy_mathjax(target: Path) -> None:
    """Copies what pages need of MathJax; it is the same at every build, so once."""
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise BookError("MathJax is missing: install the package sphinx-mathjax-offline, which the extra [book] lists")
    source = Path(found.origin).parent / "static" / "mathjax"
    for name in MATHJAX:
        if (target / name).exists():
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name)
        else:
            shutil.copy2(source / name, target / name)


def setup(app: Sphinx) -> None:
    """Registers what completes a build."""
    app.connect("build-finished", _finish, priority=800)
