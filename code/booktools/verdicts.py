"""{claim}: a sentence of the book, and on which machines it held."""

from __future__ import annotations

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from booktools import claims
from booktools.alternatives import inside, is_text
from booktools.claims import FAILED, HELD, NOT_RUN, STALE, Claim, Verdict
from booktools.display import Recording, sign
from booktools.edition import current
from booktools.render import report_missing
from booktools.rivals import objections

logger = logging.getLogger(__name__)
MARKS = {HELD: "✓", FAILED: "✗", STALE: "○", NOT_RUN: "–"}


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
        """Returns the list of verdicts: a line for this edition's machine and for each other that says something of
        the claim, and one for all whose records say nothing of it.
        """
        lines = nodes.bullet_list(classes=["dl-verdicts"])
        silent: list[nodes.Node] = []
        for machine in self.machines:
            verdict = claims.judge(claim, machine)
            if machine is not self.machines[0] and verdict.outcome in (STALE, NOT_RUN):
                silent += [nodes.Text(", " if silent else sign(":")), *self.machine_name(machine)]
                continue
            words = verdict_words(self, verdict)
            if verdict.outcome == HELD and objections(claim, machine):
                words.append(nodes.Text(sign(":") + self.say("within the spread")))
            words += [nodes.Text(" · "), *self.machine_name(machine)]
            before, _, after = sign("(@)").partition("@")
            inside = [nodes.Text(before), *self.machine_words(machine), nodes.Text(after)]
            words.append(nodes.inline("", "", *inside, classes=["dl-muted"]))
            lines += nodes.list_item("", nodes.paragraph("", "", *words), classes=[css(verdict.outcome)])
        if silent:
            words = [
                nodes.inline("", MARKS[NOT_RUN] + " ", classes=["dl-mark"]),
                nodes.Text(self.say("stale or not run")),
            ]
            lines += nodes.list_item("", nodes.paragraph("", "", *words, *silent), classes=[css(NOT_RUN)])
        return lines


def css(outcome: str) -> str:
    """Returns the class of a verdict."""
    return "dl-" + outcome.replace(" ", "-")


def verdict_words(page: Recording, verdict: Verdict) -> list[nodes.Node]:
    """Returns a verdict's mark and word, and what was lacking; why a record is stale, the page of machines says."""
    words: list[nodes.Node] = [
        nodes.inline("", MARKS[verdict.outcome] + " ", classes=["dl-mark"]),
        nodes.strong("", page.say(verdict.outcome)),
    ]
    if verdict.lacking and verdict.outcome != STALE:
        words += [nodes.Text(sign(":")), *page.changes(verdict.lacking)]
    return words


def _prepare(app: Sphinx, env: BuildEnvironment, docname: str = "") -> None:
    if not hasattr(env, "booktools_claims"):
        env.booktools_claims = {}  # type: ignore[attr-defined]
    env.booktools_claims.pop(docname, None)  # type: ignore[attr-defined]


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_directive("claim", ClaimDirective)
    app.connect("env-before-read-docs", lambda app, env, names: _prepare(app, env))
    app.connect("env-purge-doc", _prepare)
