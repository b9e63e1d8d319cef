"""The book as one document: ids, links, solutions, contents; the faces that it is set in; the file that comes of it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from bs4 import BeautifulSoup
from fontTools.pens.areaPen import AreaPen
from fontTools.ttLib import TTFont
from matplotlib.font_manager import fontManager
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ByteStringObject, NameObject, TextStringObject

from booktools.book import Book, BookError
from booktools.pdf import faces
from booktools.pdf.document import Site, document
from booktools.pdf.making import date_of
from booktools.pdf.packing import packed
from booktools.pdf.printing import places
from tests.conftest import ROOT

FOOT = """<footer class="dl-foot"><p>© A</p>
<p>Version <span>1 · abc</span> · <a href="changes.html">Changes</a></p></footer>"""
COVER = f"""<html lang="en"><title>A Book</title><a class="dl-wordmark"><svg></svg></a>
<article><section id="index"><h1>A Book<a class="headerlink" href="#index">§</a></h1>
<div class="dl-opening">Opening.</div><section id="index-what"><h2>What</h2></section>
<a href="one.html">the first</a> <a href="two.html#id1">the second</a> <a href="search.html">search</a>
</section></article>
{FOOT}"""
ONE = """<html lang="en"><article><section id="one"><h1><span class="section-number">1. </span>One</h1>
<section id="one-a"><h2>A &amp; B</h2><p id="id1">text <a href="#id1">up</a> <a href="two.html#two-b">over</a>
<a href="https://example.org/x">out</a></p></section>
<section id="one-exercises"><h2>Exercises</h2>
<div class="exercise" id="one-ex-1"><p>Do.</p></div>
<details class="dl-solution" id="one-solution-1"><summary><p>Solution to Exercise 1.1</p></summary>
<section><p>Done, by <a href="#id1">this</a>.</p></section></details></section></section></article>
<p class="dl-taken">This page: <a href="n.ipynb">notebook</a> · executed on <span>M</span> on
<time>2026-01-01</time></p>"""
TWO = """<html lang="en"><article><section id="two"><h1>Two</h1><section id="two-b"><h2>B</h2><p id="id1">text</p>
<div class="cell"><details class="hide"><summary>Code</summary><pre>x</pre></details></div>
<svg aria-labelledby="t u"><title id="t">T</title><path id="u" clip-path="url(#c)"/><use xlink:href="#u"/></svg>
</section></section></article>"""
HAN = sorted({font.name for font in fontManager.ttflist} & {*faces.HAN_SANS, *faces.HAN_SERIF})


def made(address: str = "") -> BeautifulSoup:
    """Returns the document of a book of three pages."""
    return BeautifulSoup(document(Site({"index": COVER, "one": ONE, "two": TWO}, address), str), "html.parser")


def words(soup: BeautifulSoup, selector: str) -> list[str]:
    return [" ".join(each.get_text().split()) for each in soup.select(selector)]


def test_no_id_stands_twice_and_no_link_within_leads_nowhere() -> None:
    soup = made()
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    assert len(ids) == len(set(ids))
    assert {"one.id1", "two.id1"} <= set(ids)
    targets = [link["href"][1:] for link in soup.find_all("a", href=True) if link["href"].startswith("#")]
    assert targets
    assert set(targets) <= set(ids)


def test_links_between_pages_lead_within_and_others_stay_or_are_words() -> None:
    soup = made()
    hrefs = {link.get_text(): link["href"] for link in soup.select("article a")}
    assert hrefs["the first"] == "#one"
    assert hrefs["the second"] == "#two.id1"
    assert hrefs["over"] == "#two.two-b"
    assert hrefs["up"] == hrefs["this"] == "#one.id1"
    assert hrefs["out"] == "https://example.org/x"
    assert "search" not in hrefs
    assert "search" in soup.get_text()


def test_what_the_site_holds_is_linked_where_it_stands_on_the_web() -> None:
    links = [link["href"] for link in made("https://example.org/book/").select("article a")]
    assert "https://example.org/book/search.html" in links


def test_what_names_an_id_in_a_drawing_still_does() -> None:
    drawing = made().select_one("article svg")
    assert drawing["aria-labelledby"] == "two.t two.u"
    assert drawing.path["clip-path"] == "url(#two.c)"
    assert drawing.use["xlink:href"] == "#two.u"


def test_solutions_stand_at_the_end_and_exercise_and_solution_lead_to_each_other() -> None:
    soup = made()
    assert words(soup, "article:last-of-type h1, article:last-of-type h2, article:last-of-type h3") == [
        "Solutions",
        "1. One",
        "Solution to Exercise 1.1",
    ]
    assert not soup.select("details")
    (exercise,) = soup.select(".exercise")
    assert exercise.find_next_sibling().a["href"] == "#one.one-solution-1"
    solution = soup.find(id="one.one-solution-1")
    assert solution.find_parent("article")["id"] == "solutions"
    assert solution.select_one(".dl-to a")["href"] == "#one.one-ex-1"
    assert "Done, by this." in words(soup, "article:last-of-type section section p")


def test_contents_have_chapters_and_sections_in_order_with_room_for_the_page() -> None:
    soup = made()
    assert words(soup, "nav a") == [
        *("What", "1. One", "A & B", "Exercises", "Two", "B"),
        *("Solutions", "1. One"),
    ]
    assert all(link.select_one(".dl-folio") for link in soup.select("nav a, .dl-to a"))


def test_the_cover_has_the_title_and_what_opens_the_book_which_then_stand_nowhere_else() -> None:
    soup = made()
    cover = soup.select_one("section")
    assert words(cover, "h1, .dl-opening") == ["A Book", "Opening."]
    assert words(cover, "footer p")[:2] == ["© A", "Version 1 · abc"]
    assert len(soup.select("h1")) == 4
    assert not soup.select(".headerlink")


def test_a_chapter_says_where_it_was_executed_and_shows_no_code_that_only_records() -> None:
    soup = made()
    assert words(soup, "#one > .dl-taken") == ["executed on M on 2026-01-01"]
    assert not soup.select(".cell, details, pre")


def test_each_part_has_pages_of_its_own_whose_head_names_it() -> None:
    soup = made()
    named = {part["style"].removeprefix("page: "): part["id"] for part in soup.select("article")}
    style = soup.style.get_text()
    assert len(named) == 4
    assert all(f"@page {name} {{" in style for name in named)
    assert '{ @top-left { content: "1. One" } }' in style


def printed_like_chromium(sign: str = " ", creator: str = "Chromium") -> bytes:
    """Returns a PDF of two pages with a named place on each, as text objects and streams."""
    writer = PdfWriter()
    for number in range(2):
        writer.add_blank_page(width=200, height=100 + number)
        item = writer.add_outline_item(title="", page_number=number).get_object()
        said = f"Part{sign}{number}"  # as Chromium writes it: as it is, or as hexadecimal digits
        item[NameObject("/Title")] = (
            TextStringObject(said) if said.isascii() else ByteStringObject(b"\xfe\xff" + said.encode("utf-16-be"))
        )
        writer.add_named_destination(title=f"/part.{number}", page_number=number)
    writer.add_metadata({"/Title": "T", "/Producer": "Skia", "/Creator": creator})
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_a_packed_file_has_all_that_was_in_it_and_says_what_it_is_told() -> None:
    data = packed(
        printed_like_chromium(), {"Title": "书", "Author": "A (B)"}, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    )
    reader = PdfReader(io.BytesIO(data), strict=True)
    assert [page.mediabox.height for page in reader.pages] == [100, 101]
    assert [entry.title for entry in reader.outline] == ["Part 0", "Part 1"]
    assert (reader.metadata.title, reader.metadata.author) == ("书", "A (B)")
    assert (
        reader.metadata.creation_date == reader.metadata.modification_date == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    )
    assert reader.trailer["/ID"]
    assert reader.trailer["/Root"][NameObject("/PageMode")] == "/UseOutlines"


def test_a_packed_file_depends_on_nothing_but_what_was_printed() -> None:
    date = datetime(2026, 1, 2, tzinfo=UTC)
    first, second, other = (
        packed(printed_like_chromium(*how), {"Title": "T"}, date) for how in [(" ", "A"), (" ", "B"), ("-", "A")]
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("sign", ["", "（\\(）"])
def test_the_outline_says_headings_as_they_are_written(sign: str) -> None:
    data = printed_like_chromium(sign)
    done = packed(data, {"Title": "T"}, datetime(2026, 1, 2, tzinfo=UTC), [f"Part {sign}0", "Another"])
    assert [entry.title for entry in PdfReader(io.BytesIO(done)).outline] == [f"Part {sign}0", f"Part{sign}1"]


def test_places_are_counted_from_one() -> None:
    assert places(printed_like_chromium()) == {"part.0": 1, "part.1": 2}


@pytest.mark.skipif(not HAN, reason="no font here has Han characters")
@pytest.mark.parametrize("name", HAN)
def test_a_face_keeps_widths_and_shapes_when_its_outlines_become_quadratic(name: str) -> None:
    entry = next(entry for entry in fontManager.ttflist if entry.name == name)
    index = getattr(entry, "index", 0)
    said = "性能，测量 Ab1"
    was = TTFont(entry.fname, fontNumber=index)
    data = faces.quadratic(entry.fname, index, said)
    now = TTFont(io.BytesIO(data))
    assert "glyf" in now
    assert data == faces.quadratic(entry.fname, index, said)
    for sign in said:
        old, new = (font.getGlyphSet()[font.getBestCmap()[ord(sign)]] for font in (was, now))
        assert old.width == new.width
        assert area(was, old) == pytest.approx(area(now, new), rel=0.02)


def area(font: TTFont, glyph: object) -> float:
    pen = AreaPen(font.getGlyphSet())
    glyph.draw(pen)  # type: ignore[attr-defined]
    return abs(pen.value)


def test_without_a_face_for_han_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faces, "HAN_SANS", ("No Such Font",))
    with pytest.raises(BookError, match=r"one of: No Such Font.*fonts-noto-cjk"):
        faces.faces("书", han=True)


def test_english_needs_no_face_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("HAN_SERIF", "LATIN_SANS"):
        monkeypatch.setattr(faces, kind, ("No Such Font",))
    rules = faces.faces("A", han=False)
    assert "Book Serif" in rules
    assert "Book Sans" not in rules


def test_the_date_is_that_which_is_asked_for_else_the_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert date_of(Book(ROOT)) == datetime(1970, 1, 2, tzinfo=UTC)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert date_of(Book(ROOT)).tzinfo is not None


@pytest.mark.parametrize("lacking", ["browser", "site"])
def test_what_is_lacking_is_one_message_with_its_remedy(tiny: Book, lacking: str) -> None:
    environment = {**os.environ, "PLAYWRIGHT_BROWSERS_PATH": str(tiny.root)}
    if lacking == "browser":
        environment["PATH"] = ""
    done = subprocess.run(
        [sys.executable, "-m", "booktools", "pdf"], cwd=tiny.root, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert ("install Chromium" if lacking == "browser" else "lacks this page: make book") in done.stderr
