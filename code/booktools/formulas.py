"""Formulas, as MathML when the book is built: browsers show it, read it aloud, and need no program for it.

The TeX that a page's author wrote goes along as an annotation, which `book.js` copies in its place. The font is a
subset of STIX Math, made by fontTools:

    pyftsubset STIXMath-Regular.otf --unicodes=… --layout-features=ssty --no-hinting --desubroutinize --flavor=woff2
"""

from __future__ import annotations

import functools
import html
import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from docutils import nodes
from latex2mathml.converter import convert_to_element
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)
CLASSES = "math notranslate"
"""Of the element around a formula."""


class FormulaError(ValueError):
    """TeX that does not become a formula, and why."""


@functools.cache
def mathml(tex: str, block: bool = False) -> str:
    """Returns a formula as MathML. Raises FormulaError where TeX has an error or a command that is not known."""
    try:
        root = convert_to_element(tex, display="block" if block else "inline")
    except Exception as error:  # of many kinds, none of which has a common base
        raise FormulaError(f"{tex!r} is no formula: {type(error).__name__} {error}".rstrip()) from None
    if _unescaped("{", tex) != _unescaped("}", tex):
        raise FormulaError(f"{tex!r} is no formula: its braces do not match")
    root.attrib.pop("xmlns", None)
    for element in root.iter():  # the library writes signs as HTML does, which is to be escaped but once
        element.text = html.unescape(element.text) if element.text else None
    if unknown := re.findall(r"\\[A-Za-z]+", " ".join(root.itertext())):
        raise FormulaError(f"{tex!r} has {unknown[0]}, which is not known: see code/booktools/formulas.py")
    shown = list(root)
    row = shown[0] if len(shown) == 1 else Element("mrow")
    if len(shown) > 1:
        row.extend(shown)
    root[:] = []
    semantics = SubElement(root, "semantics")
    semantics.append(row)
    SubElement(semantics, "annotation", encoding="application/x-tex").text = tex
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _unescaped(sign: str, tex: str) -> int:
    return len(re.findall(rf"(?<!\\\\){re.escape(sign)}", tex))


def _checked(node: nodes.Element, block: bool) -> str:
    try:
        return mathml(node.astext().strip(), block)
    except FormulaError as error:
        logger.warning("%s", error, location=node, type="booktools", subtype="formula")
        return ""


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(self.starttag(node, "span", "", CLASS=CLASSES) + _checked(node, False) + "</span>")
    raise nodes.SkipNode


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", "", CLASS=CLASSES))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "#")
        self.body.append("</span>")
    self.body.append(_checked(node, True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Registers the renderer, which `site` chooses."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
