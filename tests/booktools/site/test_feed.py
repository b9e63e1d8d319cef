"""The feed of what is new, and the page of changes that it tells of."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from docutils import nodes

from booktools.site.feed import ATOM, DATED, PAGE, Entry, changes_told, feed
from booktools.source.book import Book
from tests.conftest import ROOT

BASE = "https://example.org/book/zh"
HERE = f"{BASE}/feed.xml"
OLD = Entry("machine m", "机器", "2026-01-01T08:00:00Z", f"{BASE}/machines.html", "")
NEW = Entry("changes-2026-02-01", "更新", "2026-02-01T00:00:00Z", f"{BASE}/changes.html", "a < b\nc")


def told(top: ElementTree.Element, name: str) -> list[str | None]:
    return [each.text for each in top.iter(f"{{{ATOM}}}{name}")]


def test_a_feed_has_what_atom_asks_for_and_begins_with_the_newest() -> None:
    top = ElementTree.fromstring(feed("zh-CN", "书", "作者", HERE, [OLD, NEW]))
    assert told(top, "title") == ["书", "更新", "机器"]
    assert told(top, "updated") == [NEW.date, NEW.date, OLD.date]
    assert told(top, "name") == ["作者"]
    assert told(top, "content") == ["a < b\nc", None]
    assert [each.get("href") for each in top.iter(f"{{{ATOM}}}link")] == [HERE, NEW.address, OLD.address]
    assert all(str(each).startswith("urn:uuid:") for each in told(top, "id"))


def test_identities_differ_between_entries_and_languages_and_stay_when_others_come() -> None:
    two = told(ElementTree.fromstring(feed("zh-CN", "书", "作者", HERE, [OLD, NEW])), "id")
    one = told(ElementTree.fromstring(feed("zh-CN", "书", "作者", HERE, [OLD])), "id")
    english = told(ElementTree.fromstring(feed("en", "Book", "A", HERE.replace("/zh", ""), [OLD, NEW])), "id")
    assert len({*two, *english}) == 6
    assert set(one) < set(two)


def test_a_feed_without_entries_is_one() -> None:
    assert told(ElementTree.fromstring(feed("en", "Book", "A", HERE, [])), "updated") == ["1970-01-01T00:00:00Z"]


def section(label: str, title: str, *points: str) -> nodes.section:
    items = [nodes.list_item("", nodes.paragraph("", point)) for point in points]
    return nodes.section("", nodes.title("", title), nodes.bullet_list("", *items), names=[label], ids=[label])


def test_dated_sections_of_the_page_are_entries_and_no_other() -> None:
    document = nodes.document(None, None)  # type: ignore[arg-type]
    document += [section("changes", "What is new"), section("changes-2026-02-01", "Servers", "One.", "Two.")]
    (entry,) = changes_told(document, "https://example.org/changes.html")
    address = "https://example.org/changes.html#changes-2026-02-01"
    assert entry == Entry("changes-2026-02-01", "Servers", "2026-02-01T00:00:00Z", address, "One.\nTwo.")


def test_the_page_tells_its_dates_in_its_headings_the_newest_first() -> None:
    book = Book(ROOT)
    for language in book.languages:
        text = book.page(language.code, PAGE).read_text(encoding="utf-8")
        dates = [match[1] for match in re.finditer(rf"^\({DATED.pattern}\)=$", text, re.M)]
        assert dates == sorted(dates, reverse=True)
        assert re.findall(r"^## (\d{4}-\d\d-\d\d)", text, re.M) == dates
