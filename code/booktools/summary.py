"""{summary}: what a chapter asks, what it answers, and how long it takes to read."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import exercise_node, solution_node

from booktools.edition import current
from booktools.render import report_missing

WORDS, HAN = 200, 350
"""So many words of English, or Han characters, are read in a minute where one has to think."""
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[A-Za-zÀ-ɏ][\w’'-]*")


class reading_time(nodes.General, nodes.Element):
    """Where a page's reading time comes to stand."""


class SummaryDirective(SphinxDirective):
    """``{summary}`` at the top of a chapter: a question, answers with numbers, and what a reader will be able to do."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        box = nodes.container(classes=["dl-summary"])
        self.state.nested_parse(self.content, self.content_offset, box)
        box += nodes.paragraph("", "", reading_time(), classes=["dl-reading"])
        return [box]


def minutes(document: nodes.Node) -> int:
    """Returns the minutes that it takes to read the prose of a page: no code, no exercises, no outputs."""
    text = []
    for paragraph in document.findall(nodes.paragraph):
        above: Any = paragraph.parent
        while above is not None and not isinstance(above, exercise_node | solution_node):
            above = above.parent
        if above is None:
            text.append(paragraph.astext())
    whole = " ".join(text)
    return max(1, round(len(_HAN.findall(whole)) / HAN + len(_WORD.findall(_HAN.sub(" ", whole))) / WORDS))


class TellReadingTime(SphinxTransform):
    """Fills in how long a page takes to read."""

    default_priority = 880

    def apply(self, **kwargs: Any) -> None:
        for place in list(self.document.findall(reading_time)):
            text = current().catalogue.translate(f"{minutes(self.document)} minutes to read, without exercises")
            report_missing((self.env.docname, None))
            place.parent.replace(place, nodes.Text(text))


def setup(app: Sphinx) -> None:
    """Registers the directive and what completes it."""
    app.add_node(reading_time)
    app.add_directive("summary", SummaryDirective)
    app.add_transform(TellReadingTime)
