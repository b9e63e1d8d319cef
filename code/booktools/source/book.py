"""Locate the book's files: one `_config.yml`, one `_toc.yml`, a folder of pages for each language."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from booktools.source.short_flag import is_short

if TYPE_CHECKING:
    from sphinx_external_toc.api import SiteMap


class BookError(Exception):
    """Something in the book is wrong; the message names the file and line, or the key, and the remedy."""


@dataclass(frozen=True)
class Language:
    """A language of the book: its folder and URL part, Sphinx's and HTML's names for it, and its name for itself."""

    code: str
    sphinx: str
    html: str
    name: str


@dataclass(frozen=True)
class Book:
    """The book in the folder ``root``."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Book:
        """Returns the book that holds ``start`` (here, by default); BookError outside any."""
        start = (start or Path.cwd()).resolve()
        for folder in (start, *start.parents):
            if (folder / "_toc.yml").is_file() and (folder / "chapters").is_dir():
                return cls(folder)
        raise BookError(f"{start}: no book here: neither this folder nor one above it holds _toc.yml and chapters/")

    @functools.cached_property
    def config(self) -> dict[str, Any]:
        """The contents of `_config.yml`."""
        return _load_yaml(self.root / "_config.yml")

    @functools.cached_property
    def languages(self) -> list[Language]:
        """The languages, the one at the site's root first."""
        entries = self.config["sphinx"]["config"]["booktools_languages"]
        return [Language(**entry) for entry in entries]

    def language(self, sphinx_name: str | None) -> Language:
        """Returns the language that Sphinx knows by this name."""
        return next(x for x in self.languages if x.sphinx == (sphinx_name or "en"))

    def language_in(self, code: str) -> Language:
        """Returns the language in the folder ``code``."""
        return next(x for x in self.languages if x.code == code)

    @functools.cached_property
    def pages(self) -> list[str]:
        """The names of all pages in reading order, as `_toc.yml` lists them; without language or suffix."""
        from sphinx_external_toc.parsing import MalformedError, parse_toc_yaml

        path = self.root / "_toc.yml"
        try:
            return list(_in_order(parse_toc_yaml(path)))
        except FileNotFoundError:
            raise BookError(f"{path}: the book needs this file") from None
        except (MalformedError, yaml.YAMLError) as error:
            raise BookError(f"{path}: not a table of contents: {error}") from None

    def page(self, language: str, name: str) -> Path:
        """Returns the source of a page."""
        return self.chapters / language / f"{name}.md"

    def path_on_site(self, language: Language, name: str) -> str:
        """Returns where a page stands below the site's root: the first language at the root, others in a folder."""
        folder = "" if language == self.languages[0] else f"{language.code}/"
        return f"{folder}{name}.html"

    @property
    def chapters(self) -> Path:
        """The folder of all text."""
        return self.root / "chapters"

    @property
    def notebooks(self) -> Path:
        """Executed notebooks of this machine, kept out of git; short ones have a folder of their own."""
        return self.root / ("notebooks-short" if is_short() else "notebooks")

    @property
    def records(self) -> Path:
        """Executed notebooks of named machines, kept in git."""
        return self.root / "records"

    @property
    def build(self) -> Path:
        """The folder of everything built; `html` in it is the site."""
        return self.root / "_build"

    @property
    def cache(self) -> Path:
        """What is kept between runs, each under a hash of what it was made of."""
        return self.build / "cache"

    @property
    def timeout(self) -> int:
        """Seconds that one cell may run."""
        return int(self.config.get("execute", {}).get("timeout", 300))

    def relative(self, path: Path) -> str:
        """Returns ``path`` as a message names it."""
        return os.path.relpath(path, self.root)


def _in_order(site: SiteMap) -> Iterator[str]:
    """Yields the pages of a table of contents, each before those below it."""
    waiting = [site.root.docname]
    while waiting:
        name = waiting.pop()
        yield str(name).removesuffix(".md")
        waiting += reversed(site[name].child_files())


def _load_yaml(path: Path) -> dict[str, Any]:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BookError(f"{path}: the book needs this file") from None
    except yaml.YAMLError as error:
        raise BookError(f"{path}: not YAML: {error}") from None
