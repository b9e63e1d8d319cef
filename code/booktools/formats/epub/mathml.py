"""Formulas as MathML: e-readers show it without a program, and read it aloud."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

from bs4 import BeautifulSoup, NavigableString, Tag
from latex2mathml.converter import convert_to_element

from booktools.source.book import BookError

_DELIMITED = re.compile(r"\\\((?P<inline>.*?)\\\)|\\\[(?P<block>.*?)\\\]", re.S)


def mathml(tex: str, block: bool = False) -> str:
    """Returns a formula as MathML. Raises BookError where TeX has an error or a command that is not known."""
    try:
        root = convert_to_element(tex, display="block" if block else "inline")
    except Exception as error:  # of many kinds, none of which has a common base
        raise BookError(f"{tex!r} does not become MathML: {type(error).__name__} {error}".rstrip()) from None
    for element in root.iter():  # signs come as HTML writes them, and are to be escaped but once
        element.text = html.unescape(element.text) if element.text else None
    if unknown := re.findall(r"\\[A-Za-z]+", " ".join(root.itertext())):
        raise BookError(f"{tex!r} does not become MathML: latex2mathml does not know {unknown[0]}")
    root.set("alttext", tex)
    return ElementTree.tostring(root, encoding="unicode")


def set_formulas(article: Tag) -> None:
    """Puts MathML in the place of the formulas of a chapter, which the site leaves to MathJax."""
    for holder in article.select(".math"):
        for text in [each for each in holder.children if isinstance(each, NavigableString)]:
            if found := _DELIMITED.search(text):
                block = found["block"] is not None
                tex = (found["block"] if block else found["inline"]).strip()
                text.replace_with(BeautifulSoup(mathml(tex, block), "html.parser"))
