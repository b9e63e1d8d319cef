"""The {glue:text} role, replacing MyST-NB's: a measured value inline, with its spread if that is large."""

from __future__ import annotations

import json

from docutils import nodes
from myst_nb.core.variables import RetrievalError, format_plain_text
from myst_nb.ext.glue.roles import PasteTextRole
from myst_nb.ext.glue.utils import retrieve_glue_data
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from booktools.show.display import sign
from booktools.show.edition import current
from booktools.show.render import report_missing
from booktools.show.spread import Words, ratio_words, words
from dlperf.measurement import Measurement
from dlperf.ratio import Ratio
from dlperf.records import MIME


class Quantity(nodes.inline):
    """A measured value; what appears over it tells median, spread and number of samples."""


class GluedTextRole(PasteTextRole):
    """``{glue:text}`page.key:.1f` ``: a measurement or a ratio of medians in words; all else as MyST-NB shows it.

    A pure number with a format is rounded once, from all its digits; MyST-NB would round its three-digit text again.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        shown = self.words()
        if shown is None:
            found: tuple[list[nodes.Node], list[nodes.system_message]] = super().run()
            return found
        report_missing((self.document.settings.env.docname, self.line))
        result = quantity(shown)
        for node in result:
            self.set_source_info(node)
        return result, []

    def words(self) -> Words | None:
        """Returns what to show of a measurement, a ratio of medians or a pure number in a format; else None."""
        key, _, form = self.text.partition(":")
        name = key.removesuffix(".percent")
        try:
            content = retrieve_glue_data(self.document, name).data.get(MIME, {})
        except RetrievalError:
            return None
        content = json.loads(content) if isinstance(content, str) else content
        say, percent = current().catalogue.translate, name != key
        if content.get("kind") == "measurement":
            m = Measurement.from_json(dict(content["measurement"]))
            no_number = form and (m.unit != "1" or percent)  # which MyST-NB says
            return None if no_number else words(m, say, form, percent)
        if "sides" in content:
            sides = tuple(map(Measurement.from_json, content["sides"]))
            ratio = Ratio(content["value"], sides, content["because"])
            return ratio_words(ratio, say, form, percent)
        value = content.get("value")
        if form and not percent and content.get("unit") == "1" and not isinstance(value, str):
            return Words(format_plain_text(repr(value), form), "", "")
        return None


def quantity(shown: Words) -> list[nodes.Node]:
    """Returns words as prose shows them: the value, with what appears over it, and its mark in brackets."""
    if not shown.title:
        return [nodes.inline("", shown.value, classes=["pasted-text"])]
    value = Quantity("", shown.value, classes=["dl-quantity"], title=shown.title)
    if not shown.mark:
        return [value]
    return [value, nodes.inline("", sign("(@)").replace("@", shown.mark), classes=["dl-wide"])]


def _begin(writer: HTML5Translator, node: Quantity) -> None:
    writer.body.append(writer.starttag(node, "span", "", title=node["title"]))


def _end(writer: HTML5Translator, node: Quantity) -> None:
    writer.body.append("</span>")


def setup(app: Sphinx) -> None:
    """Registers the node, and the role in place of MyST-NB's, whose extension comes first."""
    app.setup_extension("myst_nb")
    app.add_node(Quantity, html=(_begin, _end))
    app.add_role_to_domain("glue", "text", GluedTextRole(), override=True)
