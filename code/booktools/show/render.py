"""Render cells' outputs: figures that themes recolour, tables, code, labels in the page's language."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from bs4 import BeautifulSoup, NavigableString, Tag
from docutils import nodes
from myst_nb.core.render import MimeData, NbElementRenderer
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from booktools.show.catalogue import Catalogue
from booktools.show.edition import current
from dlperf.palette import COLORS, INK

logger = logging.getLogger(__name__)
PYTHON = ("python", "ipython", "ipython3", "py", "python3")


def report_missing(location: Any) -> None:
    """Warns of each string that the catalogue lacked since the last call; a warning fails the build."""
    found = current().catalogue
    for text in found.missing:
        name = found.path.name if found.path else ""
        logger.warning("%s has no translation of %r", name, text, location=location, type="booktools", subtype="label")
    found.missing.clear()


def themed_svg(svg: str, labels: Catalogue) -> str:
    """Returns a matplotlib SVG for a page: labels translated, theme colours, unique ids, width of the column.

    By expressions, since `html.parser` would write ``viewBox`` in lower case, and a parser that would not (lxml) is no
    dependency; matplotlib writes all its SVG alike.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    width = re.search(r'width="([\d.]+)pt"', svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    sizes = re.findall(r'<text[^>]*style="[^"]*?font(?:-size)?: ([\d.]+)px', svg)
    scale = max(4 / 3, 12.1 / min(map(float, sizes), default=12))  # px to a pt; a phone shows three quarters of it
    style = f"--dl-width:{float(width[1]) * scale:.0f}px;max-width:var(--dl-width)" if width else ""
    svg = svg.replace("<svg", f'<svg role="img" style="{style}"', 1)
    prefix = "f" + hashlib.sha256(svg.encode()).hexdigest()[:6] + "-"
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\1{prefix}", svg)
    svg = re.sub(r"(font: [^;\"]*?[\d.]+px) [^;\"]+", r"\1 var(--dl-font-figure, sans-serif)", svg)
    svg = svg.replace(f": {INK}", ": currentColor")
    for number, colour in enumerate(COLORS, 1):
        svg = re.sub(rf": {colour}\b", f": var(--dl-series-{number}, {colour})", svg, flags=re.I)
    said = lambda match: html.escape(labels.translate(html.unescape(match[0])), quote=False)
    return re.sub(r"<text\b.*?</text>", lambda m: re.sub(r"(?<=>)[^<>]+(?=<)", said, m[0]), svg, flags=re.S)


def translate_markup(markup: str, labels: Catalogue) -> str:
    """Returns HTML with the text between its tags translated, except in ``<code>`` and in what is a name.

    A number and its unit stay on one line, in however narrow a column.
    """
    soup = BeautifulSoup(markup, "html.parser")
    for text in soup.find_all(string=True):
        if type(text) is NavigableString and not text.find_parent(_is_kept):  # a comment is a string of another type
            text.replace_with(_BEFORE_UNIT.sub("\u00a0", labels.translate(str(text))))
    return str(soup)


_BEFORE_UNIT = re.compile(r"(?<=\d) (?=[A-Za-zµ%/]{1,7}(?![A-Za-z]))")


def _is_kept(tag: Tag) -> bool:
    return tag.name in ("code", "script", "style") or tag.get("translate") == "no"


def translated(
    renderer: NbElementRenderer, data: MimeData, translate: Callable[[str, Catalogue], str], box: str
) -> list[nodes.Element]:
    """Returns an output's markup in the page's language, in a ``div`` of class ``box``; reports what has no entry."""
    env = renderer.renderer.sphinx_env
    labels = current().catalogue
    shown = f'<div class="{box}">{translate(data.string, labels)}</div>'
    report_missing((env.docname, data.line))
    return [nodes.raw("", shown, format="html")]


class Svg:
    """Renders figures inline, for MyST-NB."""

    mime_priority_overrides: ClassVar[Sequence[tuple[str, str, int | None]]] = (("*", "image/svg+xml", 1),)

    @staticmethod
    def handle_mime(renderer: NbElementRenderer, data: MimeData, inline: bool) -> list[nodes.Element] | None:
        return translated(renderer, data, themed_svg, "dl-figure") if data.mime_type == "image/svg+xml" else None


class Html:
    """Renders tables, for MyST-NB."""

    mime_priority_overrides: ClassVar[Sequence[tuple[str, str, int | None]]] = ()

    @staticmethod
    def handle_mime(renderer: NbElementRenderer, data: MimeData, inline: bool) -> list[nodes.Element] | None:
        return translated(renderer, data, translate_markup, "dl-table-box") if data.mime_type == "text/html" else None


class TranslateCode(SphinxTransform):
    """Translates comments and docstrings in shown code, and the lines that cells printed."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        labels = current().catalogue
        if labels.path is None:
            return
        for node in self.document.findall(nodes.literal_block):
            if "output" in node["classes"]:
                text = labels.translate_lines(node.astext())
            elif node.get("language") in PYTHON:
                text = labels.translate_code(node.astext())
            elif node.get("language") == "diff":
                text = labels.translate_diff(node.astext())
            else:
                continue
            report_missing(node)
            if text != node.astext():
                node.rawsource = text
                node.clear()
                node += nodes.Text(text)
        for pasted in self.document.findall(nodes.inline):
            if "pasted-text" in pasted["classes"]:
                text = labels.translate(pasted.astext())
                pasted.clear()
                pasted += nodes.Text(text)
                report_missing(pasted)


class MarkEnglish(SphinxTransform):
    """Marks the English of a term on another language's page as English, for browsers and screen readers.

    It stands in a reference to the glossary, ``预热（warm-up）``, and at the head of a definition there.
    """

    default_priority = 410
    phrase = re.compile(r"[A-Za-z][A-Za-z0-9 /–-]*")

    def apply(self, **kwargs: Any) -> None:
        if current().catalogue.path is None:
            return
        for reference in self.document.findall(pending_xref):
            if reference.get("reftype") == "term" and self.phrase.fullmatch(reference.astext()):
                for shown in reference.findall(nodes.inline):
                    shown["classes"].append("language-en")
        for definition in self.document.findall(nodes.definition):
            text = definition.next_node(nodes.Text)
            head = self.phrase.match(text) if text is not None else None
            if text is not None and head is not None and text.startswith(("。", "，"), head.end()):
                english = nodes.inline("", head[0], classes=["language-en"])
                text.parent.replace(text, [english, nodes.Text(text[head.end() :])])


def setup(app: Sphinx) -> None:
    """Registers the transforms; MyST-NB finds the renderers by their entry points."""
    app.add_transform(TranslateCode)
    app.add_transform(MarkEnglish)
