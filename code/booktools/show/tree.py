"""{tree}: a decision tree of links, written as a nested list and drawn by the style sheet, without a script."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator


class Tree(nodes.General, nodes.Element):
    """A nested list of links; ``label`` says what it leads to, to whoever has it read out."""


class TreeDirective(SphinxDirective):
    """``{tree} What it leads to`` around a nested list; what each item must be, `branches` says."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        found = Tree("", label=self.arguments[0])
        self.state.nested_parse(self.content, self.content_offset, found)
        return [found]


def visit(writer: HTML5Translator, node: Tree) -> None:
    """Opens a tree as a landmark with a name of its own."""
    label = {"aria-label": node["label"]}
    writer.body.append(writer.starttag(node, "nav", CLASS="dl-tree", **label))


def depart(writer: HTML5Translator, node: Tree) -> None:
    """Closes a tree."""
    writer.body.append("</nav>\n")


def setup(app: Sphinx) -> None:
    """Registers the directive, its node, and how HTML writes it."""
    app.add_node(Tree, html=(visit, depart))
    app.add_directive("tree", TreeDirective)
