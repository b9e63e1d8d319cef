"""What is printed, the fonts it is set in, and the file that comes of it."""

from __future__ import annotations

import importlib.util
import io
import shutil
from pathlib import Path

import pikepdf
import pytest
from bs4 import BeautifulSoup
from fontTools.pens.areaPen import AreaPen
from fontTools.ttLib import TTFont
from matplotlib.font_manager import fontManager

from booktools.formats.pdf import fonts
from booktools.formats.pdf.document import document, mathjax_scripts, outline, quoted
from booktools.formats.pdf.packing import pack
from booktools.formats.pdf.printing import page_numbers
from booktools.formats.volume import Entry
from booktools.source.book import BookError
from tests.booktools.formats.small import PAGES, small_volume

HAN = sorted({font.name for font in fontManager.ttflist} & {*fonts.HAN_SANS, *fonts.HAN_SERIF})
OUTLINE = [Entry(1, "part.0", "", "One（一）"), Entry(2, "part.1", "", "Two"), Entry(1, "part.1", "", "Three")]
FACTS = {"Title": "书", "Author": "A (B)"}


def printed_like_chromium(creator: str = "Chromium", pages: int = 2) -> bytes:
    """Returns a PDF with a named place on each page, as Chromium's have."""
    pdf = pikepdf.new()
    for number in range(pages):
        pdf.add_blank_page(page_size=(200, 100 + number))
    places = {f"/part.{n}": [page.obj, pikepdf.Name.XYZ, 0, 100, 0] for n, page in enumerate(pdf.pages)}
    pdf.Root.Dests = pikepdf.Dictionary({name: pikepdf.Array(place) for name, place in places.items()})
    pdf.docinfo["/Creator"], pdf.docinfo["/Producer"] = creator, "Skia"
    pdf.docinfo["/CreationDate"] = f"D:20260101{creator}"
    file = io.BytesIO()
    pdf.save(file)
    return file.getvalue()


def test_contents_list_chapters_and_sections_in_order_with_room_for_a_page_number() -> None:
    soup = BeautifulSoup(document(small_volume(), str), "html.parser")
    links = soup.select(".dl-contents a")
    assert [link.get_text() for link in links] == [
        *("About this book", "What", "One", "A & B", "Exercises", "Two", "B", "Solutions", "One"),
    ]
    ids = {tag["id"] for tag in soup.find_all(id=True)}
    assert {str(link["href"])[1:] for link in links} <= ids
    assert all(link.select_one(".dl-folio") for link in [*links, *soup.select(".dl-to a")])


def test_every_entry_of_the_outline_is_the_target_of_a_link_so_that_the_file_has_its_place() -> None:
    volume = small_volume()
    soup = BeautifulSoup(document(volume, str), "html.parser")
    targets = {str(link["href"])[1:] for link in soup.select('a[href^="#"]')}
    entries = outline(volume, str)
    assert {each.id for each in entries} <= targets
    assert [each.text for each in entries if each.level == 1] == [
        "Contents",
        "About this book",
        "One",
        "Two",
        "Solutions",
    ]
    assert "C" in [each.text for each in entries if each.level == 3]


def test_each_chapter_has_pages_of_its_own_whose_head_names_it() -> None:
    soup = BeautifulSoup(document(small_volume(), str), "html.parser")
    named = [str(article["style"]).removeprefix("page: ") for article in soup.select("article")]
    assert len(set(named)) == 4
    assert soup.style
    assert f'@page {named[1]} {{ @top-left {{ content: "One" }} }}' in soup.style.get_text()


def test_words_of_a_heading_can_end_neither_a_string_nor_a_style() -> None:
    assert quoted('a "b" \\ </style>') == r'"a \22 b\22  \5c  \3c /style>"'


def test_formulas_are_set_as_the_site_sets_them_once_and_with_other_fonts() -> None:
    scripts = mathjax_scripts(PAGES.values(), "file:///mathjax.js", "file:///fonts")
    assert "window.MathJax = { options: {} };" in scripts
    assert '"fontURL": "file:///fonts"' in scripts
    assert "enableAssistiveMml = false" in scripts
    assert 'src="file:///mathjax.js"' in scripts
    assert mathjax_scripts([PAGES["two"]], "file:///mathjax.js", "file:///fonts") == ""


def test_a_packed_file_has_its_outline_and_says_what_it_is_told() -> None:
    data = pack(printed_like_chromium(), OUTLINE, FACTS, "zh-CN", 86_400)
    with pikepdf.open(io.BytesIO(data)) as pdf:
        assert [page.mediabox[3] for page in pdf.pages] == [100, 101]
        with pdf.open_outline() as shown:
            assert [each.title for each in shown.root] == ["One（一）", "Three"]
            assert [each.title for each in shown.root[0].children] == ["Two"]
            assert shown.root[1].destination[0].objgen == pdf.pages[1].objgen
        said = {key: str(value) for key, value in pdf.docinfo.items()}
        dates = dict.fromkeys(("/CreationDate", "/ModDate"), "D:19700102000000+00'00'")
        assert said == {"/Title": "书", "/Author": "A (B)", "/Producer": "Skia", **dates}
        assert str(pdf.Root.Lang) == "zh-CN"
        assert pdf.Root.PageMode == "/UseOutlines"


def test_a_packed_file_depends_on_what_was_printed_and_on_nothing_else() -> None:
    first, second, other = (
        pack(printed_like_chromium(*how), OUTLINE, FACTS, "en", 0) for how in (("A",), ("B",), ("A", 3))
    )
    assert first == second
    assert first != other


def test_pages_are_counted_from_one() -> None:
    assert page_numbers(printed_like_chromium()) == {"part.0": 1, "part.1": 2}


def same_shapes(was: TTFont, now: TTFont, said: str) -> None:
    """Fails if a font's characters have other widths or areas, or no quadratic outlines."""
    assert "glyf" in now
    for sign in said:
        old, new = (font.getGlyphSet()[font.getBestCmap()[ord(sign)]] for font in (was, now))
        assert old.width == new.width
        assert area(was, old) == pytest.approx(area(now, new), rel=0.02)


def test_fonts_of_formulas_keep_widths_and_shapes_when_their_outlines_become_quadratic(tmp_path: Path) -> None:
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parent / "static" / "mathjax" / "output" / "chtml" / "fonts" / "woff-v2"
    (tmp_path / "before").mkdir()
    was = Path(shutil.copy(folder / "MathJax_Math-Italic.woff", tmp_path / "before"))
    fonts.make_mathjax_fonts(was.parent, tmp_path / "fonts")
    same_shapes(TTFont(was), TTFont(tmp_path / "fonts" / was.name), "abc")


@pytest.mark.skipif(not HAN, reason="no font here has Han characters")
def test_so_does_a_font_with_han_which_holds_only_what_is_asked_for() -> None:
    entry = next(entry for entry in fontManager.ttflist if entry.name == HAN[0])
    index, said = getattr(entry, "index", 0), "性能，测量 Ab1"
    now = TTFont(io.BytesIO(fonts.subset_font(entry.fname, index, said)))
    same_shapes(TTFont(entry.fname, fontNumber=index), now, said)
    assert set(now.getBestCmap()) == set(map(ord, said))


def area(font: TTFont, glyph: object) -> float:
    pen = AreaPen(font.getGlyphSet())
    glyph.draw(pen)  # type: ignore[attr-defined]
    return abs(pen.value)


def test_without_a_font_for_han_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "HAN_SANS", ("No Such Font",))
    with pytest.raises(BookError, match=r"one of: No Such Font.*fonts-noto-cjk"):
        fonts.font_rules("书", han=True)


def test_english_needs_no_font_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("HAN_SERIF", "LATIN_SANS"):
        monkeypatch.setattr(fonts, kind, ("No Such Font",))
    rules = fonts.font_rules("A", han=False)
    assert "Book Serif" in rules
    assert "Book Sans" not in rules
