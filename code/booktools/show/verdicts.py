"""The {claim} and {claims} directives: statements of the book and the machines on which they held."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode
from sphinx.writers.html5 import HTML5Translator

from booktools.claims import claims
from booktools.claims.claims import FAILED, HELD, NOT_RUN, STALE, Claim, Verdict
from booktools.claims.limits import BASES, registered
from booktools.claims.rivals import is_easy
from booktools.executions.records import Machine
from booktools.show.alternatives import inside, is_text
from booktools.show.display import AfterReading, Cell, Recording, sign, table
from booktools.show.edition import current
from booktools.show.formerly import formerly
from booktools.show.render import report_missing

logger = logging.getLogger(__name__)
MARKS = {HELD: "✓", FAILED: "✗", STALE: "○", NOT_RUN: "–"}


class Folded(nodes.General, nodes.Element):
    """What a reader opens; a `Summary` comes first in it."""


class Summary(nodes.General, nodes.TextElement):
    """The line that a `Folded` shows while it is closed."""


class ClaimDirective(SphinxDirective, Recording):
    """``{claim} id`` around a sentence: on which machines it held, failed, or was not run."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        identity = self.arguments[0]
        claim = current().claim(identity)
        if claim is None or identity.partition(".")[0] != self.env.docname:
            logger.warning(
                "{claim}: there is no claim %r in chapters/claims/%s.py",
                identity,
                self.env.docname,
                location=self.get_location(),
            )
            return []
        self.check_keys(claim)
        anchor = "claim-" + identity.replace(".", "-")
        box = nodes.container(classes=["dl-claim"], ids=[anchor])
        inside(self, str(current().outcome(identity)), box)
        if any(reference.get("reftype") == "eq" for reference in box.findall(pending_xref)):
            logger.warning("{claim} %s: no {eq} here: the sentence stands on another page too", identity, location=box)
        kept = self.env.booktools_claims.setdefault(self.env.docname, {})  # type: ignore[attr-defined]
        kept[identity] = (anchor, " ".join(node.astext() for node in box.children if not is_text(node)))
        box += self.verdicts(claim)
        report_missing(self.get_location())
        return [box]

    def check_keys(self, claim: Claim) -> None:
        """Warns of a key that no machine records though one has what the claim needs."""
        able = [m for m in self.machines if m.environment and all(map(m.has, claim.needs))]
        for key in claim.keys:
            if able and not any(key in machine.records for machine in able):
                logger.warning("{claim} %s: no machine has a record %r", claim.id, key, location=self.get_location())

    def verdicts(self, claim: Claim) -> nodes.Element:
        """Returns how the claim stands here and elsewhere in one line, which opens: each machine, and the limit.

        What is stale elsewhere stands on the page of machines alone.
        """
        here, *others = (claims.judge(claim, machine) for machine in self.shown_first())
        found = [here, *(verdict for verdict in others if verdict.outcome != STALE)]
        lines = nodes.bullet_list(classes=["dl-verdicts"])
        for verdict in found:
            words = [*verdict_words(self, verdict), nodes.Text(" · "), *self.machine_name(verdict.machine)]
            before, _, after = sign("(@)").partition("@")
            inside = [nodes.Text(before), *self.machine_words(verdict.machine), nodes.Text(after)]
            words.append(nodes.inline("", "", *inside, classes=["dl-muted"]))
            lines += nodes.list_item("", nodes.paragraph("", "", *words), classes=[css(verdict.outcome)])
        folded = Folded("", Summary("", "", *self.summary(found), classes=[css(found[0].outcome)]), lines)
        folded += nodes.paragraph("", "", *self.limit(claim), classes=["dl-limit"])
        return folded

    def shown_first(self) -> list[Machine]:
        """Returns the machines, led by the one whose execution the page shows: that is the reader's *here*."""
        source = current().source(self.env.docname)
        return sorted(self.machines, key=lambda machine: source is None or machine.name != source.name)

    def summary(self, found: list[Verdict]) -> list[nodes.Node]:
        """Returns the verdict on the machine shown, and on how many others it held of those that could be judged."""
        here, *others = found
        judged = [verdict.outcome for verdict in others if verdict.outcome in (HELD, FAILED)]
        elsewhere = f"here; elsewhere it held on {judged.count(HELD)} of {len(judged)}"
        return [*verdict_words(self, here), nodes.Text(" " + self.say(elsewhere if judged else "here"))]

    def limit(self, claim: Claim) -> Iterator[nodes.Node]:
        """Yields where the limit comes from, each that it had before, if that is known, and if little was risked."""
        if not claim.basis:
            return
        yield nodes.Text(self.say(BASES[claim.basis]))
        if known := registered(current().book).get(claim.id):
            yield from formerly(self, known)
        if is_easy(claim, self.machines):
            yield nodes.Text(self.say(BUILT if claim.basis == "theory" else EASY))


def css(outcome: str) -> str:
    """Returns the class of a verdict."""
    return "dl-" + outcome.replace(" ", "-")


def verdict_words(page: Recording, verdict: Verdict) -> list[nodes.Node]:
    """Returns a verdict's mark and word, and what was lacking; why a record is stale, the page of machines says."""
    words: list[nodes.Node] = [
        nodes.inline("", MARKS[verdict.outcome] + " ", classes=["dl-mark"]),
        nodes.strong("", page.say(verdict.outcome)),
    ]
    if verdict.close:
        words.append(nodes.Text(page.say(", close to its limit")))
    if verdict.lacking and verdict.outcome != STALE:
        words += [nodes.Text(sign(":")), *page.changes(verdict.lacking)]
    return words


class ClaimList(nodes.General, nodes.Element):
    """Stands for the table of all claims until every page has been read."""


class ClaimsDirective(SphinxDirective):
    """``{claims}``: every claim of the book with its verdict on every machine."""

    def run(self) -> list[nodes.Node]:
        self.env.booktools_lists.add(self.env.docname)  # type: ignore[attr-defined]
        return [ClaimList()]


EASY = "; an easy claim: with any one of its numbers halved or doubled, it would hold on every machine"
"""What is said of a claim that risked little."""

BUILT = "; it holds by construction: only a fault can fail it"
"""What is said of one that a theory makes exact, where nothing else is risked."""


class ClaimTable(AfterReading):
    """Fills in the table of claims."""

    def verdicts(self) -> Iterator[tuple[str, str, str, str, list[Verdict]]]:
        """Yields each claim in the order of the pages: page, id, anchor, sentence, and its verdict on every machine."""
        known = current().outcomes
        for page in current().book.pages:
            for identity, (anchor, sentence) in self.env.booktools_claims.get(page, {}).items():  # type: ignore[attr-defined]
                yield page, identity, anchor, sentence, [claims.judge(known[identity], each) for each in self.machines]

    def mark(self) -> str:
        """Returns what the table says, to tell whether it must be written anew."""
        said = [
            (rest, [(v.machine.name, v.outcome, v.lacking, v.close) for v in verdicts])
            for *rest, verdicts in self.verdicts()
        ]
        words = [self.say(word) for word in ("claim", "this build", "cells", ":", *MARKS)]
        return repr((said, words))

    def build(self) -> nodes.Element:
        """Returns the table as its page shows it."""
        rows: list[list[Cell]] = []
        for page, _, anchor, sentence, verdicts in self.verdicts():
            link = make_refnode(self.app.builder, self.docname, page, anchor, nodes.Text(sentence))
            cells = [nodes.inline("", "", *verdict_words(self, v), classes=[css(v.outcome)]) for v in verdicts]
            rows.append([[link], *([cell] for cell in cells)])
        heads: list[Cell] = [self.say("claim"), *(self.machine_name(machine) for machine in self.machines)]
        return table(heads, rows, "dl-claims")


def _prepare(app: Sphinx, env: BuildEnvironment, docname: str = "") -> None:
    for name, empty in (("booktools_claims", {}), ("booktools_lists", set()), ("booktools_listed", "")):
        if not hasattr(env, name):
            setattr(env, name, empty)
    env.booktools_claims.pop(docname, None)  # type: ignore[attr-defined]
    env.booktools_lists.discard(docname)  # type: ignore[attr-defined]


def _updated(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Returns the pages that list all claims if what they list has changed, on whichever page."""
    before, env.booktools_listed = env.booktools_listed, ClaimTable(app).mark()  # type: ignore[attr-defined]
    return sorted(env.booktools_lists) if before != env.booktools_listed else []  # type: ignore[attr-defined]


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for node in list(doctree.findall(ClaimList)):
        node.replace_self(ClaimTable(app, docname).build())
        report_missing(docname)


def _begin(tag: str, name: str) -> Callable[[HTML5Translator, nodes.Element], None]:
    return lambda writer, node: writer.body.append(writer.starttag(node, tag, "", CLASS=name))


def _end(tag: str) -> Callable[[HTML5Translator, nodes.Element], None]:
    return lambda writer, node: writer.body.append(f"</{tag}>\n")


def setup(app: Sphinx) -> None:
    """Registers the directives, what folds, and the table that waits until every page has been read."""
    app.add_node(Folded, html=(_begin("details", "dl-folded"), _end("details")))
    app.add_node(Summary, html=(_begin("summary", "dl-summary"), _end("summary")))
    app.add_node(ClaimList)
    app.add_directive("claim", ClaimDirective)
    app.add_directive("claims", ClaimsDirective)
    app.connect("env-before-read-docs", lambda app, env, names: _prepare(app, env))
    app.connect("env-purge-doc", _prepare)
    app.connect("env-updated", _updated)
    app.connect("doctree-resolved", _fill)
