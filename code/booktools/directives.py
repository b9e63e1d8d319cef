"""What prose may say of records: {machines}, {claim}, {claims}, {environments} and the roles at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode

from booktools import claims, site
from booktools.claims import FAILED, HELD, NOT_RUN, STALE, Claim, Verdict
from booktools.records import HERE, Machine, page_of
from booktools.render import page_catalogue, report_missing
from dlperf.measurement import WIDE_SPREAD, Measurement, format_quantity

logger = logging.getLogger(__name__)
MARKS = {HELD: "✓", FAILED: "✗", STALE: "⧖", NOT_RUN: "–"}
Cell = str | Sequence[nodes.Node]


def table(heads: Sequence[Cell], rows: Sequence[Sequence[Cell]], *classes: str) -> nodes.Element:
    """Returns a table node in a box that scrolls on a narrow screen."""
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=1) for _ in heads]

    def line(cells: Sequence[Cell]) -> nodes.row:
        row = nodes.row()
        for cell in cells:
            content = [nodes.Text(cell)] if isinstance(cell, str) else list(cell)
            row += nodes.entry("", nodes.paragraph("", "", *content))
        return row

    group += nodes.thead("", line(heads))
    group += nodes.tbody("", *map(line, rows))
    return nodes.container("", nodes.table("", group, classes=["dl-table"]), classes=["dl-table-box", *classes])


def identifier(text: object) -> nodes.inline:
    """Returns text that is a name of its own in every language."""
    return nodes.inline("", str(text), classes=["dl-name"], translate="no")


class Recording:
    """What the directives share: machines, the page's language, and where they stand."""

    if TYPE_CHECKING:  # Sphinx's own base classes have these.

        @property
        def config(self) -> Any: ...

        @property
        def env(self) -> BuildEnvironment: ...

    @property
    def machines(self) -> list[Machine]:
        """Every machine of this edition; the one that builds, or whose edition this is, comes first."""
        return site.state(self.env.app).machines

    def say(self, text: str) -> str:
        """Returns a string of the book's own in the page's language."""
        return page_catalogue(self.config).translate(text)

    def sign(self, sign: str) -> str:
        """Returns a sign as the page's language sets it: full-width ones bring their own space."""
        said = self.say(sign)
        return said if said != sign else {":": ": ", "(@)": " (@)"}[sign]

    def changes(self, names: Sequence[str]) -> nodes.inline:
        """Returns what changed since a record or is lacking: identifiers, but for the word for a page's cells."""
        return identifier(", ".join(self.say(name) if name == "cells" else name for name in names))

    def machine_name(self, machine: Machine) -> list[nodes.Node]:
        """Returns what a table calls a machine: its name, or `this build`."""
        if machine.name == HERE:
            return [nodes.Text(self.say("this build"))]
        return [identifier(machine.name)]

    def machine_words(self, machine: Machine) -> str:
        """Returns processor or GPUs in words: ``NVIDIA H200``, ``AMD EPYC, 2 cores``."""
        environment = machine.environment
        if not environment:
            return self.say("not recorded")
        cores = self.say(f"@, {environment.get('cores', 1)} cores")
        return "; ".join([*environment.get("gpus", []), cores.replace("@", environment["cpu"])])

    def quantity(self, machine: Machine, key: str) -> list[nodes.Node]:
        """Returns one record as a table shows it: median, spread, number of samples, or why there is none."""
        if key not in machine.records:
            return [nodes.inline("", self.say("not recorded"), classes=["dl-muted"])]
        entry = machine.records[key]
        value = entry["value"]
        if isinstance(value, Measurement):
            spread = f" ± {format_quantity(value.iqr / 2, value.unit, 2)}"
            shown: list[nodes.Node] = [nodes.Text(str(value)), nodes.inline("", spread, classes=["dl-muted"])]
        else:
            shown = [nodes.Text(value if isinstance(value, str) else format_quantity(value, entry["unit"]))]
        if isinstance(value, Measurement) and machine.environment.get("gpus"):
            elsewhere = str(value.environment.get("device", "")).startswith("CPU")
            shown += [nodes.inline("", " (CPU)", classes=["dl-muted"])] * elsewhere
        if isinstance(value, Measurement) and value.spread > WIDE_SPREAD:
            shown.append(nodes.inline("", " " + self.say("wide spread"), classes=["dl-wide"]))
        if machine.stale(key):
            shown.append(nodes.inline("", " " + self.say("stale"), classes=["dl-stale"]))
        return shown


def bar(value: float, quartiles: tuple[float, float], largest: float) -> nodes.raw:
    """Returns a bar as long as ``value`` is beside ``largest``, with a mark over its middle half."""
    low, high = (100 * min(q / largest, 1) for q in quartiles)
    picture = (
        f'<span class="dl-bar" aria-hidden="true"><span style="width:{100 * value / largest:.1f}%"></span>'
        f'<i style="left:{low:.1f}%;width:{max(high - low, 0.4):.1f}%"></i></span>'
    )
    return nodes.raw("", picture, format="html")


class MachinesDirective(SphinxDirective, Recording):
    """``{machines} key…``: the same measurements on every recorded machine and on this build's.

    With ``:chart:``, bars stand beside the values: all of the directive's keys on one scale, from zero.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = False
    option_spec: ClassVar = {"chart": directives.flag}

    def run(self) -> list[nodes.Node]:
        keys = self.arguments[0].split()
        known = {key for machine in self.machines for key in machine.records}
        for key in [key for key in keys if key not in known]:
            logger.warning("{machines}: no machine has a record %r", key, location=self.get_location())
        self.keys = [key for key in keys if key in known]
        rows: list[list[Cell]] = []
        for key in self.keys:
            entry = next(m.records[key] for m in self.machines if key in m.records)
            description = getattr(entry["value"], "description", "")
            label: list[nodes.Node] = [nodes.literal("", key, classes=["dl-key"], translate="no")]
            if description:
                label = [nodes.Text(self.say(description) + " "), *label]
            rows.append([label, *(self.shown(machine, key) for machine in self.machines)])
        heads: list[Cell] = [self.say("measurement"), *(self.machine_name(machine) for machine in self.machines)]
        box = table(heads, rows, "dl-machines")
        note = self.say("Median ± half the interquartile range.")
        box += nodes.paragraph("", note, classes=["dl-note"])
        report_missing(page_catalogue(self.config), self.get_location())
        return [box]

    def shown(self, machine: Machine, key: str) -> list[nodes.Node]:
        """Returns one record as a cell, under its bar where a chart was asked for."""
        words = self.quantity(machine, key)
        value = machine.records.get(key, {}).get("value")
        if "chart" not in self.options or not isinstance(value, Measurement):
            return words
        others = (m.records[k]["value"] for m in self.machines for k in self.keys if k in m.records)
        alike = [o for o in others if isinstance(o, Measurement) and o.unit == value.unit]
        return [bar(value.median, value.quartiles, max(o.quartiles[1] for o in alike)), *words]


class ClaimDirective(SphinxDirective, Recording):
    """``{claim} id`` around a sentence: on which machines it held, failed, or was not run."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        identity = self.arguments[0]
        claim = site.state(self.env.app).claims.get(identity)
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
        self.state.nested_parse(self.content, self.content_offset, box)
        if any(reference.get("reftype") == "eq" for reference in box.findall(pending_xref)):
            logger.warning("{claim} %s: no {eq} here: the sentence stands on another page too", identity, location=box)
        kept = self.env.booktools_claims.setdefault(self.env.docname, {})  # type: ignore[attr-defined]
        kept[identity] = (anchor, box.astext())
        box += self.verdicts(claim)
        report_missing(page_catalogue(self.config), self.get_location())
        return [box]

    def check_keys(self, claim: Claim) -> None:
        """Warns of a key that no machine records though one has what the claim needs."""
        able = [m for m in self.machines if m.environment and all(map(m.has, claim.needs))]
        for key in claim.keys:
            if able and not any(key in machine.records for machine in able):
                logger.warning("{claim} %s: no machine has a record %r", claim.id, key, location=self.get_location())

    def verdicts(self, claim: Claim) -> nodes.Element:
        """Returns the list of verdicts, one line per machine."""
        lines = nodes.bullet_list(classes=["dl-verdicts"])
        for machine in self.machines:
            verdict = claims.judge(claim, machine)
            words = [*verdict_words(self, verdict), nodes.Text(" · "), *self.machine_name(machine)]
            words.append(
                nodes.inline(
                    "", self.sign("(@)").replace("@", self.machine_words(machine)), classes=["dl-muted"], translate="no"
                )
            )
            lines += nodes.list_item("", nodes.paragraph("", "", *words), classes=[css(verdict.outcome)])
        return lines


def css(outcome: str) -> str:
    """Returns the class of a verdict."""
    return "dl-" + outcome.replace(" ", "-")


def verdict_words(page: Recording, verdict: Verdict) -> list[nodes.Node]:
    """Returns a verdict's mark and word, and what was lacking."""
    words: list[nodes.Node] = [
        nodes.inline("", MARKS[verdict.outcome] + " ", classes=["dl-mark"]),
        nodes.strong("", page.say(verdict.outcome)),
    ]
    if verdict.lacking:
        words += [nodes.Text(page.sign(":")), page.changes(verdict.lacking)]
    return words


class ClaimList(nodes.General, nodes.Element):
    """Stands for the table of all claims until every page has been read."""


class ClaimsDirective(SphinxDirective):
    """``{claims}``: every claim of the book with its verdict on every machine."""

    def run(self) -> list[nodes.Node]:
        self.env.booktools_lists.add(self.env.docname)  # type: ignore[attr-defined]
        return [ClaimList()]


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

    def build(self, docname: str) -> nodes.Element:
        """Returns the table as the page ``docname`` shows it."""
        rows: list[list[Cell]] = []
        known = site.state(self.app).claims
        for page in site.state(self.app).book.pages:
            for identity, (anchor, sentence) in self.env.booktools_claims.get(page, {}).items():  # type: ignore[attr-defined]
                link = make_refnode(self.app.builder, docname, page, anchor, nodes.Text(sentence))
                verdicts = [claims.judge(known[identity], machine) for machine in self.machines]
                cells = [nodes.inline("", "", *verdict_words(self, v), classes=[css(v.outcome)]) for v in verdicts]
                rows.append([[link], *([cell] for cell in cells)])
        heads: list[Cell] = [self.say("claim"), *(self.machine_name(machine) for machine in self.machines)]
        return table(heads, rows, "dl-claims")


class EnvironmentsDirective(SphinxDirective, Recording):
    """``{environments}``: what each recorded machine is made of."""

    ROWS: ClassVar = (
        ("processor", "cpu"),
        ("cores used", "cores"),
        ("virtual machine", "virtual"),
        ("memory", "memory_bytes"),
        ("GPUs", "gpus"),
        ("driver", "driver"),
        ("compiler", "compiler"),
        ("operating system", "os"),
        ("code", "code"),
        ("date", "date"),
    )

    def run(self) -> list[nodes.Node]:
        rows: list[list[Cell]] = [
            [self.say(label), *(self.value(m, key) for m in self.machines)] for label, key in self.ROWS
        ]
        libraries: list[Cell] = [[identifier("Python, PyTorch")]]
        libraries += [
            [identifier(f"{m.environment.get('python')}, {m.environment.get('torch')}")] for m in self.machines
        ]
        stale: list[Cell] = [self.say("changed since")]
        stale += [[self.changes(self.changed(m) or ["–"])] for m in self.machines]
        heads: list[Cell] = [self.say("machine"), *(self.machine_name(machine) for machine in self.machines)]
        box = table(heads, [*rows, libraries, stale], "dl-environments")
        report_missing(page_catalogue(self.config), self.get_location())
        return [box]

    def value(self, machine: Machine, key: str) -> Cell:
        """Returns one property of a machine; a dash where it has none."""
        value = machine.environment.get(key)
        if value is None or value == []:
            return "–"
        if isinstance(value, bool):
            return self.say("yes" if value else "no")
        if key == "memory_bytes":
            return f"{value / 2**30:.1f} GiB"
        return [identifier(", ".join(value) if isinstance(value, list) else value)]

    def changed(self, machine: Machine) -> list[str]:
        """Returns what has changed since this machine was recorded."""
        return sorted({name for done in machine.executions.values() for name in done.stale})


class MachineRole(SphinxRole, Recording):
    """``{machine}`this` ``: the machine whose numbers the page shows, or a recorded one, in words.

    ``{machine}`page.key` ``: the machine whose value of that record is shown, which may have lent it.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        current = site.state(self.env.app)
        shown = current.lenders.get(self.text, current.edition)
        wanted = shown if self.text == HERE or page_of(self.text) == self.env.docname else self.text
        machine = next((m for m in self.machines if m.name == wanted), None)
        if machine is None:
            names = ", ".join(m.name for m in self.machines)
            logger.warning(
                "{machine}: no machine %r is recorded; there are: %s", wanted, names, location=self.get_location()
            )
            return [], []
        words = self.machine_words(machine)
        report_missing(page_catalogue(self.config), self.get_location())
        return [identifier(words)], []


class HereRole(SphinxRole, Recording):
    """``{here}`page.key` ``: what this edition's machine measured, with its spread; a dash where it refused."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return self.shown([m for m in self.machines if m.name == site.state(self.env.app).edition]), []

    def shown(self, machines: Sequence[Machine]) -> list[nodes.Node]:
        """Returns the record of each of ``machines`` that has it, a line each; a dash if none does."""
        if not any(self.text in machine.records for machine in self.machines):
            logger.warning("{%s}: no machine has a record %r", self.name, self.text, location=self.get_location())
        found: list[nodes.Node] = []
        for machine in machines:
            if machine.records.get(self.text, {"value": "–"})["value"] != "–":
                found += [nodes.raw("", "<br>", format="html")] * bool(found)
                found += [*self.label(machine), *self.quantity(machine, self.text)]
        return found or [nodes.Text("–")]

    def label(self, machine: Machine) -> list[nodes.Node]:
        """Returns what stands before a value: nothing, for the page says whose it is."""
        return []


class RecordedRole(HereRole):
    """``{recorded}`page.key` ``: what each named machine measured, after its name, or a dash."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return self.shown([m for m in self.machines if m.name != HERE]), []

    def label(self, machine: Machine) -> list[nodes.Node]:
        return [identifier(machine.name), nodes.Text(self.sign(":"))]


class GivenRole(SphinxRole):
    """``{given}`95 %` ``: a number that we chose, which nobody measured."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [nodes.inline("", self.text, classes=["dl-given"])], []


def _prepare(app: Sphinx, env: BuildEnvironment, docname: str = "") -> None:
    for name, empty in (("booktools_claims", {}), ("booktools_lists", set())):
        if not hasattr(env, name):
            setattr(env, name, empty)
    env.booktools_claims.pop(docname, None)  # type: ignore[attr-defined]
    env.booktools_lists.discard(docname)  # type: ignore[attr-defined]


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for node in list(doctree.findall(ClaimList)):
        node.replace_self(ClaimTable(app).build(docname))
        report_missing(page_catalogue(app.config), docname)


def setup(app: Sphinx) -> None:
    """Registers directives and roles."""
    app.add_node(ClaimList)
    app.add_directive("machines", MachinesDirective)
    app.add_directive("claim", ClaimDirective)
    app.add_directive("claims", ClaimsDirective)
    app.add_directive("environments", EnvironmentsDirective)
    app.add_role("machine", MachineRole())
    app.add_role("here", HereRole())
    app.add_role("recorded", RecordedRole())
    app.add_role("given", GivenRole())
    app.connect("env-before-read-docs", lambda app, env, names: _prepare(app, env))
    app.connect("env-purge-doc", _prepare)
    app.connect("env-updated", lambda app, env: sorted(env.booktools_lists))
    app.connect("doctree-resolved", _fill)
