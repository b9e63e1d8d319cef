"""What changed, in both languages, and the feed that tells of it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from booktools.addresses import robots, sitemap
from booktools.book import Book, BookError
from booktools.changes import bibtex, changelog, path_of
from booktools.feed import ATOM, Entry, Place, feed
from tests.conftest import ROOT, edit

ENTRIES = [
    Entry("version 2", "Version 2", "2026-02-01T00:00:00Z", "changes", ("a < b", "c")),
    Entry("machine m", "Machine", "2026-01-01T00:00:00Z", "nowhere"),
]


def test_every_language_tells_the_same_changes() -> None:
    book = Book(ROOT)
    first, *others = (changelog(book, language) for language in book.languages)
    for other in others:
        assert [(v.name, v.date, len(v.points)) for v in other] == [(v.name, v.date, len(v.points)) for v in first]
    assert first[0].points
    assert len({path_of(book, language) for language in book.languages}) == len(book.languages)


def test_a_change_that_one_language_lacks_is_named(tiny: Book) -> None:
    edit(tiny.root / "CHANGELOG.zh.md", "- 新增“性能测量”一章。\n", "")
    with pytest.raises(BookError, match=r"CHANGELOG\.zh\.md: tells of .* each belongs into both"):
        changelog(tiny, tiny.languages[1])


def test_a_version_that_one_language_lacks_is_named(tiny: Book) -> None:
    edit(tiny.root / "CHANGELOG.md", "## 0.1.0", "## 0.2.0 (2026-12-01)\n\n- New.\n\n## 0.1.0")
    with pytest.raises(BookError, match=r"no further version|0\.2\.0"):
        changelog(tiny, tiny.languages[1])
    assert changelog(tiny, tiny.languages[0])[0].date == "2026-12-01"


def test_a_file_without_a_version_says_what_one_looks_like(tiny: Book) -> None:
    (tiny.root / "CHANGELOG.md").write_text("# Changes\n", encoding="utf-8")
    with pytest.raises(BookError, match=r"'## 0\.1\.0 \(2026-11-24\)'"):
        changelog(tiny, tiny.languages[0])


@pytest.mark.parametrize(
    ("base", "link", "itself"),
    [
        ("", "changes.html", "feed.xml"),
        ("https://example.org/b/", "https://example.org/b/zh/changes.html", "https://example.org/b/zh/feed.xml"),
    ],
)
def test_a_feed_has_what_atom_asks_for(base: str, link: str, itself: str) -> None:
    place = Place("zh-CN", base, "zh/feed.xml", {"changes": "zh/changes.html"})
    made = feed("书", "作者", place, ENTRIES)
    assert made == feed("书", "作者", place, ENTRIES)
    top = ElementTree.fromstring(made)
    said = {name: [each.text for each in top.iter(f"{{{ATOM}}}{name}")] for name in ("id", "updated", "title")}
    assert len(set(said["id"])) == 3
    assert said["updated"] == ["2026-02-01T00:00:00Z", *(entry.date for entry in ENTRIES)]
    assert said["title"][0] == "书"
    assert [each.get("href") for each in top.iter(f"{{{ATOM}}}link")] == [itself, link]
    assert [each.text for each in top.iter(f"{{{ATOM}}}content")] == ["a < b\nc", None]


def test_the_map_of_the_site_has_every_page_in_every_language(tiny: Book) -> None:
    base = "https://example.org/b/"
    found = [each.text for each in ElementTree.fromstring(sitemap(tiny, base)).iter() if each.tag.endswith("}loc")]
    assert len(found) == len(set(found)) == len(tiny.pages) * len(tiny.languages)
    assert {base, base + "tiny.html", base + "zh/", base + "zh/tiny.html"} <= set(found)


def test_robots_are_told_where_the_map_is_if_there_is_one() -> None:
    assert "Sitemap" not in robots("")
    assert "Sitemap: https://example.org/b/sitemap.xml" in robots("https://example.org/b/").splitlines()


def test_names_in_bibtex_are_kept_whole() -> None:
    text = bibtex("Title", ["The authors of it", "A. B."], "1.0", "")
    assert "author = {{The authors of it} and {A. B.}}" in text
    assert "url" not in text
