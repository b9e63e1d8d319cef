"""Read a site's version, commit and URLs from `_config.yml`, `CITATION.cff` and git.

Without an address nothing on the site leads there::

    html:
      baseurl: https://example.org/book/
    repository:
      url: https://github.com/owner/name
      branch: main
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from booktools.source.book import Book, BookError, Language

CITATION = "CITATION.cff"
"""The file that says how the book is cited, and which version this is."""
NEEDED = ("title", "authors", "version")
"""What of it the site shows."""
NOTEBOOKS = "notebooks"
"""The branch that holds the plain notebooks, with what Binder installs for them."""


def site_address(book: Book) -> str:
    """Returns the address of the site, with a slash at its end; empty where none is configured.

    BookError where it is none that a browser could follow.
    """
    base = _address(book.config.get("html", {}).get("baseurl"), "html.baseurl", "https://example.org/book/")
    return base and base + "/"


def repository_address(book: Book) -> str:
    """Returns the address of the repository; empty where none is configured.

    BookError where it is none that a browser could follow.
    """
    said = book.config.get("repository") or {}
    return _address(said.get("url"), "repository.url", "https://github.com/owner/name").removesuffix(".git")


def edit_address(book: Book, language: Language, page: str) -> str:
    """Returns where a change of a page is suggested; empty where no repository is configured.

    BookError where the repository's address is none that a browser could follow.
    """
    base, said = repository_address(book), book.config.get("repository") or {}
    path = book.page(language.code, page).relative_to(book.root).as_posix()
    return base and f"{base}/edit/{said.get('branch', 'main')}/{path}"


def notebook_addresses(book: Book, language: Language, page: str) -> dict[str, str]:
    """Returns where a page's plain notebook runs, by the service's name; empty without a repository on GitHub.

    Both take it from the branch `NOTEBOOKS`, which the workflow *publish* writes.
    """
    host, _, name = repository_address(book).partition("https://github.com/")
    if host or not name:
        return {}
    file = f"{language.code}/{page}.ipynb"
    return {
        "Colab": f"https://colab.research.google.com/github/{name}/blob/{NOTEBOOKS}/{file}",
        "Binder": f"https://mybinder.org/v2/gh/{name}/{NOTEBOOKS}?{urlencode({'urlpath': f'lab/tree/{file}'})}",
    }


def _address(said: object, key: str, example: str) -> str:
    address = str(said or "").rstrip("/")
    if address and not address.startswith(("https://", "http://")):
        raise BookError(f"_config.yml: {key} is {said!r}; an absolute address, such as {example}, would do")
    return address


def citation(book: Book) -> dict[str, Any]:
    """Returns what `CITATION.cff` says; BookError where it cannot be read or lacks what the site shows."""
    path = book.root / CITATION
    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise BookError(f"{path}: says how the book is cited, and cannot be read: {error}") from None
    lacking = [key for key in NEEDED if not isinstance(said, dict) or not said.get(key)]
    if lacking:
        raise BookError(f"{path}: says how the book is cited, but not its {', '.join(lacking)}")
    return dict(said)


def commit(root: Path) -> str:
    """Returns the commit that is built, with a plus where files differ from it; empty where there is no git."""
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--exclude=*", "--abbrev=10", "--dirty=+"]
    try:
        return subprocess.run(command, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True).stdout.strip()
    except OSError:  # no git
        return ""
