"""The tiny book where a site and a repository are configured, and where neither is."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from booktools.site.provenance import notebook_addresses
from booktools.source.book import Book
from tests.booktools.site.test_provenance import BASE, REPOSITORY, with_addresses
from tests.build.conftest import Here

AT_THE_ROOT = {"404.html", "sitemap.xml", "robots.txt", "feed.xml", "zh/feed.xml"}


def page(book: Book, name: str) -> BeautifulSoup:
    return BeautifulSoup((book.build / "html" / name).read_text(encoding="utf-8"), "html.parser")


def outward(soup: BeautifulSoup) -> set[str]:
    """Returns the addresses outside the site to which a page links."""
    return {str(a["href"]) for a in soup.select("a[href]") if "//" in str(a["href"])}


def at_the_root(book: Book) -> set[str]:
    names = {*AT_THE_ROOT}
    return {name for name in names if (book.build / "html" / name).exists()}


@pytest.mark.parametrize("name", ["tiny.html", "zh/tiny.html"])
def test_without_an_address_nothing_leads_elsewhere(built: Book, name: str) -> None:
    assert outward(page(built, name)) == set()
    assert page(built, name).select_one('link[rel="canonical"]') is None
    assert at_the_root(built) == set()


def test_addresses_and_version_are_told_and_forgotten(copy: Book, build_here: Here) -> None:
    path = copy.root / "_config.yml"
    before = path.read_text(encoding="utf-8")
    book = with_addresses(copy, BASE, REPOSITORY)
    done = build_here(book, BOOKTOOLS_NOTEBOOKS="1")
    assert done.returncode == 0, done.stdout
    for name in ("tiny.html", "zh/tiny.html"):
        soup = page(book, name)
        folder = "zh" if name.startswith("zh") else "en"
        assert f"{REPOSITORY}/edit/main/chapters/{folder}/tiny.md" in outward(soup)
        assert set(notebook_addresses(book, book.language_in(folder), "tiny").values()) < outward(soup)
        assert soup.select_one('link[rel="canonical"]')["href"] == f"{BASE}/{name}"
        assert [link["href"] for link in soup.select('link[hreflang="zh-CN"]')] == [f"{BASE}/zh/tiny.html"]
        assert "0.1.0" in soup.select_one("footer").get_text()
        assert [link["href"] for link in soup.select('link[type="application/atom+xml"]')] == ["feed.xml"]
    assert at_the_root(book) == AT_THE_ROOT
    for name in ("feed.xml", "zh/feed.xml"):
        assert f'href="{BASE}/{name}"' in (book.build / "html" / name).read_text(encoding="utf-8")
    lost = page(book, "404.html")
    assert [each["lang"] for each in lost.select("section")] == ["en", "zh-CN"]
    assert {f"{BASE}/index.html", f"{BASE}/zh/index.html", f"{BASE}/zh/search.html"} <= outward(lost)
    assert lost.select("[src], link") == []

    path.write_text(before, encoding="utf-8")
    done = build_here(Book(copy.root))
    assert done.returncode == 0, done.stdout
    for name in ("tiny.html", "zh/tiny.html"):
        assert outward(page(copy, name)) == set()
        assert "0.1.0" not in page(copy, name).select_one("footer").get_text()
    assert at_the_root(copy) == set()
