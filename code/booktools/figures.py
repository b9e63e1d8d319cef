"""Figures for whoever does not see them: each is named by its caption and, where it can be read back, has its data."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from booktools.figure_data import Data, read

_NUMBERS = re.compile(r"[-\d. ×⁻⁰¹²³⁴⁵⁶⁷⁸⁹()–]*")
"""What is the same in every language."""


def data_table(svg: str, say: Callable[[str], str]) -> str:
    """Returns what a figure of Matplotlib's shows as tables that open on demand; nothing where it cannot be read."""
    panels = read(svg)
    if not panels:
        return ""
    tables = "".join(_table(panel, say) for panel in panels)
    return f'<details class="dl-data"><summary>{html.escape(say("Data as a table"))}</summary>{tables}</details>'


def _table(panel: Data, say: Callable[[str], str]) -> str:
    def said(text: str) -> str:
        return html.escape(text if _NUMBERS.fullmatch(text) else say(text))

    caption = f"<caption>{said(panel.title)}</caption>" if panel.title else ""
    heads = "".join(f'<th scope="col">{said(head)}</th>' if head else "<td></td>" for head in panel.heads)
    rows = "".join(_row([said(cell) for cell in row]) for row in panel.rows)
    return (
        f'<div class="dl-table-box"><table class="dl-table">{caption}'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(cells: Sequence[str]) -> str:
    return f'<tr><th scope="row">{cells[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in cells[1:]) + "</tr>"


class NameFigures(SphinxTransform):
    """Lets the caption of a figure name its drawing: readers who do not see it hear what it is."""

    default_priority = 710  # after `look.Anchors`

    def apply(self, **kwargs: object) -> None:
        for number, figure in enumerate(self.document.findall(nodes.figure)):
            caption = next(figure.findall(nodes.caption), None)
            drawings = [raw for raw in figure.findall(nodes.raw) if 'class="dl-whole" role="img"' in raw.astext()]
            if caption is None or not drawings:
                continue
            identity = f"{(figure['ids'] or [f'figure-{number}'])[0]}-caption"
            words = nodes.inline("", "", *caption.children, ids=[identity])  # of the caption it would come out twice
            caption.children = []
            caption += words
            for raw in drawings:
                named = raw.astext().replace('role="img"', f'role="img" aria-labelledby="{identity}"', 1)
                raw.replace_self(nodes.raw("", named, format="html"))


def setup(app: Sphinx) -> None:
    """Registers the transform; `render` asks for the data."""
    app.add_transform(NameFigures)
