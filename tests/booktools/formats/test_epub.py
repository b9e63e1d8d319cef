"""Formulas as MathML, chapters as XHTML, and a package that lists all that is in it."""

from __future__ import annotations

import io
import zipfile
from xml.etree import ElementTree

import pytest

from booktools.formats.epub.making import volume_files
from booktools.formats.epub.mathml import mathml
from booktools.formats.epub.package import Facts, pack
from booktools.source.book import BookError
from tests.booktools.formats.small import small_volume
from tests.epubs import check_structure

FACTS = Facts("A & B", "C", "en", "free", 1_700_000_000)


@pytest.fixture(scope="module")
def packed() -> bytes:
    """The small book as an EPUB."""
    files, entries, places = volume_files(small_volume(), "Cover")
    return pack(files, "Contents", entries, places, FACTS)


def read(data: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return opened.read(f"EPUB/{name}").decode()


def test_every_file_is_listed_every_page_is_xml_and_every_link_leads_somewhere(packed: bytes) -> None:
    check_structure(packed)


@pytest.mark.parametrize(
    ("page", "was", "becomes", "wrong"),
    [
        ("one.xhtml", "two.xhtml#two.two-b", "two.xhtml#nowhere", "nowhere"),
        ("one.xhtml", "two.xhtml#two.two-b", "three.xhtml", "three"),
        ("one.xhtml", "</section>", "<br></section>", "mismatched tag"),
        ("two.xhtml", 'id="two.id1"', 'id="two"', "'two', 'two'"),
        ("package.opf", 'href="two.xhtml"', 'href="three.xhtml"', "three"),
    ],
)
def test_a_fault_in_the_structure_is_found(packed: bytes, page: str, was: str, becomes: str, wrong: str) -> None:
    spoilt = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(packed)) as opened, zipfile.ZipFile(spoilt, "w") as other:
        for each in opened.infolist():
            text = opened.read(each).decode()
            if each.filename == f"EPUB/{page}":
                assert was in text
                text = text.replace(was, becomes)
            other.writestr(each, text)
    with pytest.raises((AssertionError, ElementTree.ParseError), match=wrong):
        check_structure(spoilt.getvalue())


def test_the_same_pages_make_the_same_bytes_whatever_the_time(packed: bytes) -> None:
    files, entries, places = volume_files(small_volume(), "Cover")
    assert pack(files, "Contents", entries, places, FACTS) == packed


def test_a_reader_finds_out_what_it_is_from_the_first_bytes(packed: bytes) -> None:
    assert packed[30:58] == b"mimetypeapplication/epub+zip"


def test_formulas_are_mathml_which_the_package_announces(packed: bytes) -> None:
    page = ElementTree.fromstring(read(packed, "one.xhtml"))
    formulas = list(page.iter("{http://www.w3.org/1998/Math/MathML}math"))
    assert [each.get("alttext") for each in formulas] == ["a < b", r"\frac{a}{b}"]
    assert [each.get("display") for each in formulas] == ["inline", "block"]
    assert formulas[1].find(".//{*}mfrac") is not None
    assert r"\(" not in "".join(page.itertext())
    assert 'href="one.xhtml" media-type="application/xhtml+xml" properties="mathml"' in read(packed, "package.opf")


def test_drawings_have_the_names_that_xml_wants_and_values_for_variables(packed: bytes) -> None:
    page = ElementTree.fromstring(read(packed, "two.xhtml"))
    drawing = page.find(".//{http://www.w3.org/2000/svg}svg")
    assert drawing is not None
    assert drawing.get("viewBox") == "0 0 9 9"
    assert drawing.get("style") == "max-width: 683px"
    assert drawing.find("{*}clipPath") is not None
    path = drawing.find("{*}path")
    assert path is not None
    assert path.get("style") == "fill: #0072B2"


def test_contents_are_headings_within_headings(packed: bytes) -> None:
    page = ElementTree.fromstring(read(packed, "nav.xhtml"))
    top = page.find(".//{*}nav/{*}ol")
    assert top is not None
    said = [("".join(each.find("{*}a").itertext()), len(each.findall("{*}ol/{*}li"))) for each in top]  # type: ignore[union-attr]
    assert said == [("About this book", 1), ("One", 2), ("Two", 1), ("Solutions", 1)]


@pytest.mark.parametrize(("tex", "wrong"), [(r"\nosuchcommand x", r"\\nosuchcommand"), (r"\frac{a}{", "MathML")])
def test_tex_that_cannot_be_shown_is_an_error_that_says_so(tex: str, wrong: str) -> None:
    with pytest.raises(BookError, match=wrong):
        mathml(tex)
