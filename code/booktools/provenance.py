"""Where a build comes from: version, commit, the addresses of the repository and of the site.

Addresses are those of `_config.yml`, as Jupyter Book names them; without one, nothing on the site leads there::

    html:
      baseurl: https://example.org/book/
    repository:
      url: https://github.com/owner/name
      branch: main            # of the sources
      site_branch: gh-pages   # on which the built site is published, with its notebooks
"""

from __future__ import annotations

import functools
import os
import subprocess
from dataclasses import dataclass
from typing import Any

import yaml

from booktools.book import Book, BookError

CITATION = "CITATION.cff"
"""The file that says how the book is cited, and which version this is."""
GITHUB = "https://github.com/"


@dataclass(frozen=True)
class Repository:
    """Where the sources are kept; ``commit`` is that of the build, or the branch where it is not known."""

    url: str
    branch: str
    site_branch: str
    commit: str

    @property
    def slug(self) -> str:
        """Owner and name, where GitHub is the host; else empty, for Colab and Binder open notebooks from there."""
        return self.url.removeprefix(GITHUB) if self.url.startswith(GITHUB) else ""

    @property
    def requirement(self) -> str:
        """What pip installs the book's code from."""
        return f"dlperf @ git+{self.url}@{self.commit}"

    def edit(self, path: str) -> str:
        """Returns the address at which a change of a file is suggested."""
        return f"{self.url}/edit/{self.branch}/{path}"

    def colab(self, path: str) -> str:
        """Returns the address that opens a notebook of the published site in Colab."""
        return f"https://colab.research.google.com/github/{self.slug}/blob/{self.site_branch}/{path}"

    def binder(self, path: str) -> str:
        """Returns the address that opens a notebook of the published site in Binder."""
        return f"https://mybinder.org/v2/gh/{self.slug}/{self.site_branch}?labpath={path.replace('/', '%2F')}"


def site_address(book: Book) -> str:
    """Returns the address of the site, with a slash at its end; empty where none is configured."""
    base = str(book.config.get("html", {}).get("baseurl") or "")
    if base and not base.startswith(("https://", "http://")):
        raise BookError(f"_config.yml: html.baseurl is {base!r}; an absolute address, such as https://…, would do")
    return base and base.rstrip("/") + "/"


def repository(book: Book) -> Repository | None:
    """Returns the repository that `_config.yml` names; None where it names none."""
    said = book.config.get("repository") or {}
    url = str(said.get("url") or "").rstrip("/").removesuffix(".git")
    if not url:
        return None
    if not url.startswith("https://"):
        raise BookError(f"_config.yml: repository.url is {url!r}; an address such as {GITHUB}owner/name would do")
    branch = said.get("branch", "main")
    return Repository(url, branch, said.get("site_branch", "gh-pages"), commit(book).rstrip("+") or branch)


@functools.cache
def citation(book: Book) -> dict[str, Any]:
    """Returns what `CITATION.cff` says; BookError where it cannot be read."""
    path = book.root / CITATION
    try:
        return dict(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise BookError(f"{path}: says how the book is cited, and cannot be read: {error}") from None


@functools.cache
def commit(book: Book) -> str:
    """Returns the commit that is built, with a plus where files differ from it; empty where there is no git."""
    if not (book.root / ".git").exists():
        return ""
    return _git(book, "describe", "--always", "--exclude=*", "--abbrev=10", "--dirty=+")


@functools.cache
def committed(book: Book) -> str:
    """Returns when the commit was made, in ISO 8601; empty where there is no git."""
    return _git(book, "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ") if commit(book) else ""


def _git(book: Book, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=book.root, env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def mark(book: Book) -> str:
    """Returns all of this as one string: when it changes, every page is written anew."""
    return repr((citation(book)["version"], commit(book), repository(book), site_address(book)))
