"""{outcome}, {held}, {failed}, {not-run}: blocks of which a page shows those that are so on the machine it shows."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from booktools.claims.outcomes import PARTS, directive
from booktools.show.edition import current

logger = logging.getLogger(__name__)
WAITING = "booktools_outcome"
"""Under which a directive tells those inside which of them is shown."""
TEXTS = frozenset(f"dl-{directive(part)}-text" for part in PARTS)
"""The classes of what such a directive holds."""


class OutcomeDirective(SphinxDirective):
    """``{outcome} id`` around ``{held}``, ``{failed}`` and ``{not-run}``: shows that one of them."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        found = current().outcome(self.arguments[0])
        if found is None:  # `references` says so before anything is built.
            logger.warning("{outcome}: there is no %r", self.arguments[0], location=self.get_location())
            return []
        box = nodes.container()
        shown = inside(self, found, box)
        if not shown:
            logger.warning(
                "{outcome} %s: %s on the machine shown, and there is no {%s} that says so",
                self.arguments[0], found, directive(found), location=self.get_location(),
            )  # fmt: skip
        return box.children


def inside(around: SphinxDirective, outcome: str, box: nodes.Element) -> bool:
    """Parses a directive's content into ``box``, of the parts by outcome only that one; returns if it was there."""
    outer = around.env.temp_data.get(WAITING)
    around.env.temp_data[WAITING] = state = [outcome, False]
    around.state.nested_parse(around.content, around.content_offset, box)
    around.env.temp_data[WAITING] = outer
    return bool(state[1])


def is_text(node: nodes.Node) -> bool:
    """Returns whether a node is what one of the directives for an outcome held."""
    return isinstance(node, nodes.Element) and not TEXTS.isdisjoint(node["classes"])


class PartDirective(SphinxDirective):
    """``{held}``, ``{failed}``, ``{not-run}``: text for one outcome, inside ``{outcome}`` or ``{claim}``."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        waiting = self.env.temp_data.get(WAITING)
        if waiting is None:
            logger.warning("{%s} stands outside of {outcome} and {claim}", self.name, location=self.get_location())
            return []
        if self.name != directive(waiting[0]):
            return []
        waiting[1] = True
        box = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, box)
        for node in box.children:
            if isinstance(node, nodes.Element):
                node["classes"].append(f"dl-{self.name}-text")
        return box.children


def setup(app: Sphinx) -> None:
    """Registers the directives."""
    app.add_directive("outcome", OutcomeDirective)
    for part in PARTS:
        app.add_directive(directive(part), PartDirective)
