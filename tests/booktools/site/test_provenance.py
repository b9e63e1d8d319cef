"""Version, commit and addresses of a site, and how the book is cited."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from booktools.site.addresses import SITEMAP, robots, sitemap
from booktools.site.cite import bibtex
from booktools.site.provenance import (
    CITATION,
    citation,
    commit,
    edit_address,
    notebook_addresses,
    site_address,
)
from booktools.source.book import Book, BookError
from tests.conftest import ROOT, edit

BASE, REPOSITORY = "https://example.org/book", "https://github.com/owner/name"


def with_addresses(book: Book, base: str, repository: str) -> Book:
    """Returns a book whose configuration names two addresses."""
    path = book.root / "_config.yml"
    edit(path, "html:\n", f"repository:\n  url: {repository}\nhtml:\n  baseurl: {base}\n")
    return Book(book.root)


def test_the_book_is_cited_with_the_version_that_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation(Book(ROOT))["version"] == project["version"]
    assert citation(Book(ROOT))["title"] == Book(ROOT).config["title"]
    assert [each["name"] for each in citation(Book(ROOT))["authors"]] == [Book(ROOT).config["author"]]


@pytest.mark.parametrize(
    ("text", "said"), [("title: T\n", "authors, version"), ("[", "cannot be read"), ("", "title, authors, version")]
)
def test_a_citation_that_lacks_something_says_what(tiny: Book, text: str, said: str) -> None:
    (tiny.root / CITATION).write_text(text, encoding="utf-8")
    with pytest.raises(BookError, match=said):
        citation(tiny)


def test_without_an_address_there_is_none(tiny: Book) -> None:
    assert site_address(tiny) == ""
    assert edit_address(tiny, tiny.languages[0], "tiny") == ""


@pytest.mark.parametrize("end", ["", "/"])
def test_addresses_end_with_one_slash(tiny: Book, end: str) -> None:
    book = with_addresses(tiny, BASE + end, REPOSITORY + end)
    assert site_address(book) == f"{BASE}/"
    assert edit_address(book, book.languages[1], "tiny") == f"{REPOSITORY}/edit/main/chapters/zh/tiny.md"


def test_services_find_a_notebook_of_a_repository_on_github(tiny: Book) -> None:
    language = tiny.languages[1]
    assert notebook_addresses(tiny, language, "tiny") == {}
    assert notebook_addresses(with_addresses(tiny, BASE, REPOSITORY + ".git"), language, "tiny") == {
        "Colab": "https://colab.research.google.com/github/owner/name/blob/notebooks/zh/tiny.ipynb",
        "Binder": "https://mybinder.org/v2/gh/owner/name/notebooks?urlpath=lab%2Ftree%2Fzh%2Ftiny.ipynb",
    }
    edit(tiny.root / "_config.yml", "github.com", "example.org")
    assert notebook_addresses(Book(tiny.root), language, "tiny") == {}


def test_an_address_that_no_browser_follows_is_named(tiny: Book) -> None:
    book = with_addresses(tiny, "example.org", "git@example.org")
    with pytest.raises(BookError, match=r"html\.baseurl is 'example\.org'; an absolute address"):
        site_address(book)
    with pytest.raises(BookError, match=r"repository\.url is 'git@example\.org'"):
        edit_address(book, book.languages[0], "tiny")


def test_a_commit_is_marked_where_files_differ_from_it(tmp_path: Path) -> None:
    assert commit(tmp_path) == ""
    (tmp_path / "file").write_text("1", encoding="utf-8")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert commit(tmp_path) == head[:10]
    (tmp_path / "file").write_text("2", encoding="utf-8")
    assert commit(tmp_path) == f"{head[:10]}+"


def test_the_map_lists_each_page_in_each_language_with_its_twins(tiny: Book) -> None:
    found = [
        (url[0].text, [link.get("href") for link in url[1:]])
        for url in ElementTree.fromstring(sitemap(tiny, f"{BASE}/")).iter(f"{{{SITEMAP}}}url")
    ]
    assert len(found) == len(tiny.pages) * len(tiny.languages)
    assert (f"{BASE}/zh/tiny.html", [f"{BASE}/tiny.html", f"{BASE}/zh/tiny.html"]) in found
    assert f"Sitemap: {BASE}/sitemap.xml" in robots(f"{BASE}/")


def test_an_entry_for_bibtex_has_an_address_only_where_there_is_one() -> None:
    assert (
        bibtex("T", ["A b", "C"], "1", "")
        == "@misc{dlperf,\n  title = {T},\n  author = {{A b} and {C}},\n  version = {1},\n}"
    )
    assert "  url = {https://example.org/},\n" in bibtex("T", ["A"], "1", "https://example.org/")
