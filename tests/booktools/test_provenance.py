"""Where a build comes from: citation, version, commit, addresses."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import tomllib

import jsonschema
import pytest
import yaml

from booktools.book import Book, BookError
from booktools.provenance import citation, commit, committed, mark, repository, site_address
from tests.conftest import ROOT, edit

SCHEMA = ROOT / "tests" / "data" / "citation-1.2.0.schema.json"
"""The schema of the Citation File Format, as `cffconvert` 2.0.0 has it (CC BY 4.0)."""


def configured(book: Book, **entries: object) -> Book:
    """Returns the book with these entries in its configuration."""
    path = book.root / "_config.yml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name, entry in entries.items():
        config[name] = {**config.get(name, {}), **entry} if isinstance(entry, dict) else entry
    path.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
    return Book(book.root)


def git(book: Book, *arguments: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=book.root, check=True, capture_output=True)


def test_the_citation_is_valid() -> None:
    jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(citation(Book(ROOT)))


def test_the_schema_refuses_a_citation_without_a_title() -> None:
    said = {key: value for key, value in citation(Book(ROOT)).items() if key != "title"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(said, json.loads(SCHEMA.read_text(encoding="utf-8")), jsonschema.Draft7Validator)


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation(Book(ROOT))["version"] == project["version"]


def test_a_citation_that_is_lacking_is_named(tiny: Book) -> None:
    (tiny.root / "CITATION.cff").unlink()
    with pytest.raises(BookError, match=r"CITATION\.cff: says how the book is cited"):
        citation(tiny)


def test_a_commit_has_a_plus_once_a_file_differs(tiny: Book) -> None:
    assert (commit(tiny), committed(tiny)) == ("", "")
    git(tiny, "init", "-q")
    git(tiny, "add", ".")
    git(tiny, "commit", "-qm", "all")
    clean = commit(fresh(tiny))
    assert len(clean) >= 10
    assert committed(fresh(tiny)).endswith("Z")
    edit(tiny.page("en", "tiny"), "Like this.", "Like that.")
    assert commit(fresh(tiny)) == clean + "+"


def fresh(book: Book) -> Book:
    """Forgets what was asked before: git is asked once in a process."""
    commit.cache_clear()
    committed.cache_clear()
    return book


def test_nothing_is_configured_by_default(tiny: Book) -> None:
    assert site_address(tiny) == ""
    assert repository(tiny) is None


def test_addresses_of_a_repository(tiny: Book) -> None:
    book = configured(tiny, repository={"url": "https://github.com/some/book.git"})
    found = repository(book)
    assert found
    assert found.requirement == "dlperf @ git+https://github.com/some/book@main"
    assert found.edit("chapters/zh/tiny.md") == "https://github.com/some/book/edit/main/chapters/zh/tiny.md"
    assert found.colab("a/b.ipynb") == "https://colab.research.google.com/github/some/book/blob/gh-pages/a/b.ipynb"
    assert found.binder("a/b.ipynb") == "https://mybinder.org/v2/gh/some/book/gh-pages?labpath=a%2Fb.ipynb"


def test_elsewhere_than_on_github_neither_colab_nor_binder_finds_it(tiny: Book) -> None:
    found = repository(configured(tiny, repository={"url": "https://example.org/some/book"}))
    assert found
    assert found.slug == ""
    assert dataclasses.replace(found, url="https://github.com/a/b").slug == "a/b"


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"html": {"baseurl": "example.org/book"}}, "html.baseurl"),
        ({"repository": {"url": "git@x:y"}}, "repository.url"),
    ],
)
def test_an_address_that_is_none_is_refused(tiny: Book, entries: dict[str, object], said: str) -> None:
    book = configured(tiny, **entries)
    with pytest.raises(BookError, match=said):
        mark(book)
