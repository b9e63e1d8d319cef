"""A chapter as a page of XHTML, which e-readers parse as XML and show with style sheets of their own."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from bs4 import Tag

from booktools.formats.epub.mathml import set_formulas

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
MATHML = "http://www.w3.org/1998/Math/MathML"
CAMEL_CASE = (
    "viewBox preserveAspectRatio patternUnits patternTransform patternContentUnits clipPath clipPathUnits "
    "linearGradient radialGradient gradientUnits gradientTransform textLength textPath lengthAdjust startOffset "
    "markerWidth markerHeight markerUnits refX refY"
)
"""Names in SVG that XML wants as they are, and that HTML is parsed without."""
_CAMEL_CASE = {name.lower(): name for name in CAMEL_CASE.split()}
_WIDTH = re.compile(r"--dl-width:\s*([^;]+);\s*max-width:\s*var\(--dl-width\)")
_VARIABLE = re.compile(r"var\(--[\w-]+,\s*([^()]+)\)")


def to_xhtml(part: Tag, title: str, language: str, places: Mapping[str, str]) -> str:
    """Returns a chapter or the cover as a page; ``places`` has the file in which each id of the book stands."""
    set_formulas(part)
    for svg in part.find_all("svg"):
        _mend_svg(svg)
    for link in part.select('a[href^="#"]'):
        target = str(link["href"])[1:]
        link["href"] = f"{places[target]}#{target}"
    return page(part.decode(formatter="minimal"), title, language)


def page(body: str, title: str, language: str) -> str:
    """Returns a page of XHTML with the book's style sheet."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n'
        f'<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="{language}" '
        f'xml:lang="{language}">\n<head><meta charset="utf-8"/><title>{html.escape(title)}</title>'
        f'<link rel="stylesheet" href="book.css"/></head>\n<body>{body}</body></html>\n'
    )


def properties(xhtml: str) -> str:
    """Returns what a page holds that the package has to announce."""
    return " ".join(
        name for name, mark in (("mathml", f'xmlns="{MATHML}"'), ("svg", f'xmlns="{SVG}"')) if mark in xhtml
    )


def _mend_svg(svg: Tag) -> None:
    """Gives a drawing the names that XML wants, and values in place of a style sheet's variables."""
    svg["xmlns"], svg["xmlns:xlink"] = SVG, XLINK
    for empty in svg.select("path:not([d])"):  # a line of which no point can be seen
        empty.decompose()
    for tag in [svg, *svg.find_all(True)]:
        tag.name = _CAMEL_CASE.get(tag.name, tag.name)
        for key in [key for key in tag.attrs if key in _CAMEL_CASE]:
            tag.attrs[_CAMEL_CASE[key]] = tag.attrs.pop(key)
        if "style" in tag.attrs:
            style = _WIDTH.sub(r"max-width: \1", str(tag["style"]))
            tag["style"] = _VARIABLE.sub(r"\1", style)
