"""Formulas as MathML, chapters as XHTML, and a package that lists all that is in it."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from booktools.formats.epub.making import make_epub, volume_files
from booktools.formats.epub.mathml import mathml
from booktools.formats.epub.package import Facts, pack
from booktools.formats.epub.xhtml import to_xhtml
from booktools.source.book import Book, BookError
from tests import epubs
from tests.booktools.formats.small import PAGES, small_volume
from tests.conftest import ROOT
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


def test_the_pages_of_a_site_make_a_book_the_same_twice(tmp_path: Path) -> None:
    book = Book(ROOT)
    vars(book)["pages"] = list(PAGES)
    for name, text in PAGES.items():
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    data = make_epub(book, book.languages[0], tmp_path)
    check_structure(data)
    for name in ("cover", "one", "two"):
        assert f'href="{name}.xhtml"' in read(data, "package.opf")
    assert "text" in read(data, "one.xhtml")
    assert make_epub(book, book.languages[0], tmp_path) == data


def test_what_epubcheck_says_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a stand-in for it, which finds fault with what is no archive, and fails where there is no file."""
    checker = tmp_path / "epubcheck"
    checker.write_text(
        "#!/bin/sh\ntest -e $1 || exit 7\ngrep -q PK $1 || echo 'ERROR(PKG-003): it is no archive'\necho Done\n",
        encoding="ascii",
    )
    checker.chmod(0o755)
    monkeypatch.setattr(epubs, "DEBIAN_JAR", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert epubs.epubcheck() == [str(checker)]
    for name, text, said in (("good", "PK", []), ("bad", "text", ["ERROR(PKG-003): it is no archive"])):
        (tmp_path / name).write_text(text, encoding="ascii")
        assert epubs.complaints(tmp_path / name) == said
    with pytest.raises(AssertionError):
        epubs.complaints(tmp_path / "nowhere")


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


def test_a_line_of_which_no_point_is_seen_is_left_out() -> None:
    """Matplotlib writes a path without a course for it, which XML's rules for SVG do not allow."""
    drawn = BeautifulSoup('<div><svg><path style="a"></path><path d="M0 0"></path></svg></div>', "html.parser").div
    assert drawn is not None
    page = ElementTree.fromstring(to_xhtml(drawn, "T", "en", {}).partition("<!DOCTYPE html>")[2])
    assert [path.get("d") for path in page.iter("{http://www.w3.org/2000/svg}path")] == ["M0 0"]


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
