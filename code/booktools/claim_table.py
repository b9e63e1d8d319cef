"""{claims}: every claim of the book by chapter, with its verdict on every machine, and how many held where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from booktools import claims
from booktools.claims import Verdict
from booktools.display import Cell, Recording, identifier, sign
from booktools.edition import current
from booktools.records import HERE
from booktools.render import report_missing
from booktools.verdicts import MARKS, css

Row = tuple[str, str, list[Verdict]]
"""A claim as the table has it: its anchor, its sentence, and its verdict on every machine."""


class ClaimList(nodes.General, nodes.Element):
    """Stands for the table of all claims until every page has been read."""


class ClaimsDirective(SphinxDirective):
    """``{claims}``: every claim of the book with its verdict on every machine."""

    def run(self) -> list[nodes.Node]:
        self.env.booktools_lists.add(self.env.docname)  # type: ignore[attr-defined]
        return [ClaimList()]


def short_names(names: Sequence[str]) -> list[str]:
    """Returns what tells machines apart: their names without the words with which all of them begin."""
    split = [name.split("-") for name in names]
    shared = 0
    while len(names) > 1 and all(len(words) > shared + 1 for words in split) and len({w[shared] for w in split}) == 1:
        shared += 1
    return ["-".join(words[shared:]) for words in split]


def totals(verdicts: Iterable[Verdict]) -> list[tuple[str, int]]:
    """Returns how many verdicts there are of each outcome that occurs, in the order of the legend."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    return [(outcome, counts[outcome]) for outcome in MARKS if counts[outcome]]


class ClaimTable(Recording):
    """Fills in the table of claims."""

    def __init__(self, app: Sphinx) -> None:
        self.app = app

    @property
    def config(self) -> Any:
        return self.app.config

    @property
    def env(self) -> BuildEnvironment:
        return self.app.env

    def chapters(self) -> Iterator[tuple[str, list[Row]]]:
        """Yields each page that has claims, in the order of the book, with its claims."""
        known = current().outcomes
        for page in current().book.pages:
            found = self.env.booktools_claims.get(page, {})  # type: ignore[attr-defined]
            if found:
                yield (
                    page,
                    [
                        (anchor, sentence, [claims.judge(known[identity], each) for each in self.machines])
                        for identity, (anchor, sentence) in found.items()
                    ],
                )

    def mark(self) -> str:
        """Returns what the table says, to tell whether it must be written anew."""
        said = [
            (page, self.title(page), anchor, sentence, [(v.machine.name, v.outcome, v.lacking) for v in verdicts])
            for page, rows in self.chapters()
            for anchor, sentence, verdicts in rows
        ]
        words = [self.say(word) for word in ("claim", "all chapters", "this build", "cells", ":", *MARKS)]
        return repr((said, words))

    def title(self, page: str) -> str:
        """Returns the title of a page."""
        return self.env.titles[page].astext()

    def build(self, docname: str) -> nodes.Element:
        """Returns the table as the page ``docname`` shows it, under its legend."""
        heads: list[Cell] = [self.say("claim"), *self.heads()]
        group = nodes.tgroup(cols=len(heads))
        group += [nodes.colspec(colwidth=1, stub=not column) for column in range(len(heads))]
        group += nodes.thead("", _line(heads))
        chapters = list(self.chapters())
        every = [rows for _, found in chapters for *_, rows in found]
        group += nodes.tbody("", self.sums([nodes.Text(self.say("all chapters"))], every, "dl-total"))
        for page, rows in chapters:
            link = make_refnode(self.app.builder, docname, page, "", nodes.Text(self.title(page)))
            lines = [self.sums([link], [verdicts for *_, verdicts in rows], "dl-chapter")]
            for anchor, sentence, verdicts in rows:
                claim = make_refnode(self.app.builder, docname, page, anchor, nodes.Text(sentence))
                lines.append(_line([[claim], *([self.verdict(each)] for each in verdicts)]))
            group += nodes.tbody("", *lines)
        box = nodes.container("", nodes.table("", group, classes=["dl-table"]), classes=["dl-table-box", "dl-claims"])
        return nodes.container("", self.legend(), box)

    def heads(self) -> Iterator[Cell]:
        """Yields what heads each machine's column: its short name, and out of sight what that leaves out."""
        named = [machine.name for machine in self.machines if machine.name != HERE]
        short = dict(zip(named, short_names(named), strict=True))
        for machine in self.machines:
            if machine.name == HERE:
                yield self.say("this build")
            else:
                rest = identifier(machine.name.removesuffix(short[machine.name]))
                rest["classes"] = ["dl-unseen"]
                yield [rest, identifier(short[machine.name])] if rest.astext() else [identifier(machine.name)]

    def verdict(self, verdict: Verdict) -> nodes.inline:
        """Returns a verdict's mark, and out of sight its word and what was lacking."""
        word: list[nodes.Node] = [nodes.Text(self.say(verdict.outcome))]
        if verdict.lacking:
            word += [nodes.Text(sign(":")), *self.changes(verdict.lacking)]
        unseen = nodes.inline("", "", *word, classes=["dl-unseen"])
        return nodes.inline("", "", _mark(verdict.outcome), unseen, classes=[css(verdict.outcome)])

    def sums(self, head: list[nodes.Node], verdicts: Sequence[Sequence[Verdict]], kind: str) -> nodes.row:
        """Returns a row with how many of these claims held, failed and so on, machine by machine."""
        columns = (totals(each) for each in zip(*verdicts, strict=True))
        row = _line([head, *([self.sum(outcome, count) for outcome, count in column] for column in columns)])
        row["classes"] = [kind]
        return row

    def sum(self, outcome: str, count: int) -> nodes.inline:
        """Returns how often an outcome occurred."""
        word = nodes.inline("", " " + self.say(outcome), classes=["dl-unseen"])
        return nodes.inline("", "", nodes.Text(f"{count} "), _mark(outcome), word, classes=["dl-sum", css(outcome)])

    def legend(self) -> nodes.paragraph:
        """Returns what the marks mean."""
        words = (
            nodes.inline("", "", _mark(each), nodes.Text(" " + self.say(each)), classes=[css(each)]) for each in MARKS
        )
        return nodes.paragraph("", "", *words, classes=["dl-note", "dl-legend"])


def _mark(outcome: str) -> nodes.raw:
    return nodes.raw("", f'<span class="dl-mark" aria-hidden="true">{MARKS[outcome]}</span>', format="html")


def _line(cells: Sequence[Cell]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        content = [nodes.Text(cell)] if isinstance(cell, str) else list(cell)
        row += nodes.entry("", nodes.paragraph("", "", *content))
    return row


def _prepare(app: Sphinx, env: BuildEnvironment, docname: str = "") -> None:
    for name, empty in (("booktools_lists", set()), ("booktools_listed", "")):
        if not hasattr(env, name):
            setattr(env, name, empty)
    env.booktools_lists.discard(docname)  # type: ignore[attr-defined]


def _updated(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Returns the pages that list all claims if what they list has changed, on whichever page."""
    before, env.booktools_listed = env.booktools_listed, ClaimTable(app).mark()  # type: ignore[attr-defined]
    return sorted(env.booktools_lists) if before != env.booktools_listed else []  # type: ignore[attr-defined]


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for node in list(doctree.findall(ClaimList)):
        node.replace_self(ClaimTable(app).build(docname))
        report_missing(docname)


def setup(app: Sphinx) -> None:
    """Registers the directive, and the table that waits until every page has been read."""
    app.add_node(ClaimList)
    app.add_directive("claims", ClaimsDirective)
    app.connect("env-before-read-docs", lambda app, env, names: _prepare(app, env))
    app.connect("env-purge-doc", _prepare)
    app.connect("env-updated", _updated)
    app.connect("doctree-resolved", _fill)
