"""{score}: how near the book's predictions came, by chapter and machine, and those that missed by most."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import log

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from booktools.claims.predictions import NEAR, Result, all_predictions, results, within
from booktools.executions.records import Machine
from booktools.show.display import AfterReading, Cell, table
from booktools.show.edition import current
from booktools.show.render import report_missing

WORST = 10
"""How many of those that missed by most are listed."""
WIDEST = 4
"""A strip reaches from one over this to this; what lies beyond stands at its end."""


class ScoreList(nodes.General, nodes.Element):
    """Stands for the score until every page has been read."""


class ScoreDirective(SphinxDirective):
    """``{score}``: every prediction of the book over what was measured, on every machine."""

    def run(self) -> list[nodes.Node]:
        self.env.booktools_scores.add(self.env.docname)  # type: ignore[attr-defined]
        return [ScoreList()]


class Score(AfterReading):
    """Fills in the score."""

    def results(self) -> list[Result]:
        """Returns what came of every prediction, in the order of the pages."""
        given = all_predictions(current().book)
        return [each for page in given for each in results(page, given[page], self.machines)]

    def build(self) -> list[nodes.Node]:
        """Returns the table by chapter with its legend, and the table of those that missed by most."""
        found = self.results()
        if not found:
            return [nodes.paragraph("", self.say("not recorded"), classes=["dl-muted"])]
        machines = [machine for machine in self.machines if any(each.machine is machine for each in found)]
        worst = sorted(found, key=lambda each: -each.off)[:WORST]
        return [self.by_chapter(found, machines), self.legend(machines), self.missed(worst)]

    def by_chapter(self, found: Sequence[Result], machines: Sequence[Machine]) -> nodes.Element:
        """Returns a row for each chapter: its predictions on a strip, and the share that came near."""
        rows: list[list[Cell]] = []
        for page, group in groupby(found, key=lambda each: each.page):
            every = list(group)
            link = make_refnode(self.app.builder, self.docname, page, "", nodes.Text(self.env.titles[page].astext()))
            shares = [f"{within(every, error):.0%}" for error in NEAR]
            rows.append([[link], [self.strip(every, machines)], str(len(every)), *shares])
        shares = [f"{within(found, error):.0%}" for error in NEAR]
        rows.append([self.say("all chapters"), [self.strip(found, machines)], str(len(found)), *shares])
        near = [self.say(f"within {error:.0%}") for error in NEAR]
        axis = nodes.raw("", f'<span class="dl-axis"><b>1/{WIDEST}</b><b>1</b><b>{WIDEST}</b></span>', format="html")
        over: Cell = [nodes.Text(self.say("predicted over measured")), axis]
        return table([self.say("chapter"), over, self.say("predictions"), *near], rows, "dl-score")

    def strip(self, found: Sequence[Result], machines: Sequence[Machine]) -> nodes.Node:
        """Returns a line with a dot for each prediction, at the logarithm of predicted over measured."""
        dots = "".join(
            f'<i class="dl-dot-{machines.index(each.machine) + 1}" style="left:{_place(each.over):.1f}%"></i>'
            for each in found
        )
        return nodes.raw("", f'<span class="dl-strip" aria-hidden="true">{dots}</span>', format="html")

    def legend(self, machines: Sequence[Machine]) -> nodes.Node:
        """Returns the colour of each machine."""
        line = nodes.paragraph(classes=["dl-legend"])
        for number, machine in enumerate(machines, 1):
            dot = nodes.raw("", f'<i class="dl-dot-{number}"></i>', format="html")
            line += nodes.inline("", "", dot, *self.machine_name(machine))
        return line

    def missed(self, worst: Sequence[Result]) -> nodes.Element:
        """Returns those that missed by most: the section that says why, the machine, and by how much."""
        labels = self.env.domaindata["std"]["labels"]
        rows: list[list[Cell]] = []
        for each in worst:
            page, anchor, title = labels[each.prediction.section]
            link = make_refnode(self.app.builder, self.docname, page, anchor, nodes.Text(title))
            lacks = self.say(each.prediction.lacks or "not known")
            rows.append([[link], self.machine_name(each.machine), f"{each.over:.2f}", lacks])
        heads = ["missed by most", "machine", "predicted over measured", "what the model leaves out"]
        return table([self.say(head) for head in heads], rows, "dl-missed")


def _place(over: float) -> float:
    """Returns where a ratio lies on a strip, in percent of its width."""
    return 50 + 50 * max(-1.0, min(1.0, log(over) / log(WIDEST)))


def _prepare(app: Sphinx, env: BuildEnvironment, docname: str = "") -> None:
    for name, empty in (("booktools_scores", set()), ("booktools_scored", "")):
        if not hasattr(env, name):
            setattr(env, name, empty)
    env.booktools_scores.discard(docname)  # type: ignore[attr-defined]


def _updated(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Returns the pages that show the score if it has changed, on whichever page."""
    found = Score(app).results()
    mark = repr([(each.prediction.section, each.machine.name, each.over) for each in found])
    before, env.booktools_scored = env.booktools_scored, mark  # type: ignore[attr-defined]
    return sorted(env.booktools_scores) if before != mark else []  # type: ignore[attr-defined]


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for node in list(doctree.findall(ScoreList)):
        node.replace_self(Score(app, docname).build())
        report_missing(docname)


def setup(app: Sphinx) -> None:
    """Registers the directive, and the tables that wait until every page has been read."""
    app.add_node(ScoreList)
    app.add_directive("score", ScoreDirective)
    app.connect("env-before-read-docs", lambda app, env, names: _prepare(app, env))
    app.connect("env-purge-doc", _prepare)
    app.connect("env-updated", _updated)
    app.connect("doctree-resolved", _fill)
