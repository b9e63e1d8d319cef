"""A page in plain Markdown, as Jupyter shows it: roles and directives of the book are words, links and tables.

It is made of the page as Sphinx has resolved it, so that numbers, references and citations are those of the site.
What needs its style sheet, such as a drawing, stays there; a figure keeps its caption, and its cell draws it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx import addnodes
from sphinx_exercise.nodes import exercise_node, solution_node

SILENT = (nodes.comment, nodes.target, nodes.substitution_definition, nodes.system_message, nodes.image, nodes.meta,
          addnodes.index, addnodes.toctree)  # fmt: skip
"""What shows nothing, or nothing that a notebook could show."""
STAYS = {"dl-download", "dl-measured"}
"""The classes of lines that stay there: a file of the site, and an answer that the notebook's own cells will give."""
QUOTED = (nodes.Admonition, exercise_node)
"""What stands out from the text around it."""
TAGS = {nodes.emphasis: "em", nodes.strong: "strong", nodes.superscript: "sup", nodes.subscript: "sub"}
"""As tags, not as stars: behind a Han character, stars would stay stars."""
SIGNS = re.compile(r"([\\`*_$<\[\]])")
OPENING = re.compile(r"^(\d*)([#>+.)-])(?=[#\s])")
"""What would make a heading, a quotation or a list of a paragraph."""


@dataclass(frozen=True)
class Markdown:
    """Writes one page: ``address`` is the page's on the site, empty where that is not configured.

    ``numbers`` are those that Sphinx gave to its figures and equations, ``figure`` is what a figure is called,
    such as ``Figure %s``.
    """

    address: str
    numbers: Mapping[str, Mapping[str, Sequence[int]]]
    figure: str

    def parts(self, node: nodes.Node, level: int = 1) -> Iterator[str | int]:
        """Yields the blocks of what stands in a page, and for each code cell its place in the notebook."""
        if isinstance(node, SILENT):
            return
        if isinstance(node, nodes.Element) and "cell_index" in node:
            yield int(node["cell_index"])
        elif isinstance(node, nodes.section):
            for child in node.children:
                yield from self.parts(child, level + isinstance(child, nodes.section))
        elif isinstance(node, nodes.title) and isinstance(node.parent, nodes.section):
            yield f"{'#' * level} {self.inside(node)}"
        elif isinstance(node, nodes.title):
            yield f"<strong>{self.inside(node)}</strong>"
        elif isinstance(node, solution_node) or not self.is_block(node):
            for child in node.children:  # a container of whatever kind: its content, cells among it
                yield from self.parts(child, level)
        elif text := self.block(node):
            yield text

    def is_block(self, node: nodes.Node) -> bool:
        """Returns whether a node is written as a whole; all others are what they hold."""
        claim = isinstance(node, nodes.container) and "dl-claim" in node["classes"]
        return claim or isinstance(node, (
            nodes.TextElement, nodes.bullet_list, nodes.enumerated_list, nodes.definition_list, nodes.table,
            nodes.figure, nodes.block_quote, *QUOTED,
        ))  # fmt: skip

    def block(self, node: Any) -> str:
        """Returns one block as Markdown; empty where nothing of it can be shown."""
        if isinstance(node, nodes.math_block):
            number = f" \\tag{{{self.number('displaymath', node)}}}" if self.number("displaymath", node) else ""
            return f"$$\n{node.astext().strip()}{number}\n$$"
        if isinstance(node, nodes.literal_block):
            language = node.get("language", "")
            return f"```{'' if language == 'none' else language}\n{node.astext().rstrip()}\n```"
        if isinstance(node, nodes.raw):
            return re.sub(r"\s*\n\s*", "\n", node.astext()) if "<table" in node.astext() else ""
        if isinstance(node, nodes.TextElement):
            return "" if STAYS.intersection(node["classes"]) else self.inside(node)
        if isinstance(node, nodes.figure):
            caption = next(iter(node.findall(nodes.caption)), None)
            number = self.number("figure", node)
            name = self.figure % number + " " if number else ""
            return f"<em>{name}{self.inside(caption)}</em>" if caption is not None else ""
        if isinstance(node, nodes.table):
            return self.table(node)
        if isinstance(node, nodes.definition_list):
            return "\n\n".join(self.definition(item) for item in node.findall(nodes.definition_list_item))
        if isinstance(node, (nodes.bullet_list, nodes.enumerated_list)):
            start = node.get("start", 1)
            marks = (f"{start + n}. " if isinstance(node, nodes.enumerated_list) else "- " for n in range(len(node)))
            return "\n".join(
                mark + _indented(self.text(item), len(mark)) for mark, item in zip(marks, node, strict=True)
            )
        return re.sub("^", "> ", self.text(node), flags=re.M)

    def number(self, kind: str, node: nodes.Element) -> str:
        """Returns the number of a figure or an equation as the site shows it; empty where it has none."""
        numbers = self.numbers.get(kind, {})
        return next((".".join(map(str, numbers[each])) for each in node["ids"] if each in numbers), "")

    def text(self, node: nodes.Node) -> str:
        """Returns what a block holds, for where no cell can stand."""
        return "\n\n".join(part for child in node.children for part in self.parts(child) if isinstance(part, str))

    def definition(self, item: nodes.Element) -> str:
        """Returns a term and what it means."""
        terms = ", ".join(self.inside(term) for term in item.children if isinstance(term, nodes.term))
        meant = "\n\n".join(self.text(each) for each in item.children if isinstance(each, nodes.definition))
        return f"- <strong>{terms}</strong><br>\n  {_indented(meant, 2)}"

    def table(self, node: nodes.table) -> str:
        """Returns a table in Markdown; cells of several paragraphs break their lines by tags."""
        rows = [
            [self.text(cell).replace("\n\n", "<br>").replace("\n", " ").replace("|", "\\|") for cell in row.children]
            for row in node.findall(nodes.row)
        ]
        head, *body = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([head, "|" + " --- |" * len(rows[0]), *body])

    def inside(self, node: nodes.Node) -> str:
        """Returns the running text of a node on one line."""
        line = re.sub(r"\s*\n\s*", " ", "".join(map(self.phrase, node.children))).strip()
        return OPENING.sub(r"\1\\\2", line)

    def phrase(self, node: Any) -> str:
        """Returns a piece of running text."""
        if isinstance(node, nodes.Text):
            return SIGNS.sub(r"\\\1", node.astext())
        if isinstance(node, nodes.math):
            return f"${node.astext()}$"
        if isinstance(node, nodes.literal):
            quote = "``" if "`" in node.astext() else "`"
            return f"{quote}{node.astext()}{quote}"
        if isinstance(node, nodes.raw):
            return "<br>" if node.astext() == "<br>" else ""
        if isinstance(node, SILENT):
            return ""
        inner = "".join(map(self.phrase, node.children))
        if isinstance(node, nodes.reference) and (target := self.target(node)):
            return f"[{inner}]({target})"
        tag = next((tag for kind, tag in TAGS.items() if isinstance(node, kind)), "")
        return f"<{tag}>{inner}</{tag}>" if tag else inner

    def target(self, node: nodes.reference) -> str:
        """Returns where a reference leads from a notebook: elsewhere, or to the site where its address is known."""
        uri = node.get("refuri") or f"#{node.get('refid', '')}"
        return uri if uri.startswith(("http:", "https:", "mailto:")) else self.address and urljoin(self.address, uri)


def _indented(text: str, width: int) -> str:
    return text.replace("\n", "\n" + " " * width).replace("\n" + " " * width + "\n", "\n\n")
