"""The {machines} directive, a table of measured values by machine; roles {here}, {recorded}, {speed} and {given}."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from booktools.executions.records import HERE, Machine
from booktools.show.display import Cell, Recording, identifier, sign, table
from booktools.show.edition import current
from booktools.show.render import report_missing
from booktools.show.spread import speed
from dlperf.measurement import Measurement

logger = logging.getLogger(__name__)


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
    ``:rows: one core | two cores`` says what the rows are, in the page's language, where the records do not.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = False
    option_spec: ClassVar = {"chart": directives.flag, "rows": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        keys = self.arguments[0].split()
        known = [key for key in keys if any(key in machine.records for machine in self.machines)]
        for key in [key for key in keys if key not in known]:
            logger.warning("{machines}: no machine has a record %r", key, location=self.get_location())
        self.keys = known
        named = [name.strip() for name in self.options["rows"].split("|")] if "rows" in self.options else None
        if named and len(named) != len(keys):
            logger.warning("{machines}: %d rows for %d keys", len(named), len(keys), location=self.get_location())
        told = dict(zip(keys, named or (), strict=False))
        rows: list[list[Cell]] = [
            [[self.row_name(key, told)], *(self.shown(machine, key) for machine in self.machines)] for key in self.keys
        ]
        heads: list[Cell] = [self.say("measurement"), *(self.machine_name(machine) for machine in self.machines)]
        box = table(heads, rows, "dl-machines")
        note = self.say("Median ± half the interquartile range.")
        box += nodes.paragraph("", note, classes=["dl-note"])
        report_missing(self.get_location())
        return [box]

    def row_name(self, key: str, told: Mapping[str, str]) -> nodes.Node:
        """Returns what a row is called: as the page says, as its record describes itself, or else by its key."""
        entry = next(m.records[key] for m in self.machines if key in m.records)
        if key in told:
            return nodes.Text(told[key])
        if description := getattr(entry["value"], "description", ""):
            return nodes.Text(self.say(description))
        return nodes.literal("", key, classes=["dl-key"])

    def shown(self, machine: Machine, key: str) -> list[nodes.Node]:
        """Returns one record as a cell, under its bar where a chart was asked for."""
        words = self.quantity(machine, key)
        value = machine.records.get(key, {}).get("value")
        if "chart" not in self.options or not isinstance(value, Measurement):
            return words
        others = (m.records[k]["value"] for m in self.machines for k in self.keys if k in m.records)
        alike = [o for o in others if isinstance(o, Measurement) and o.unit == value.unit]
        return [bar(value.median, value.quartiles, max(o.quartiles[1] for o in alike)), *words]


class HereRole(SphinxRole, Recording):
    """``{here}`page.key` ``: what this edition's machine measured, with its spread; a dash where it refused."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if not any(self.text in machine.records for machine in self.machines):
            logger.warning("{%s}: no machine has a record %r", self.name, self.text, location=self.get_location())
        return self.shown([m for m in self.machines if m.name == current().name]), []

    def shown(self, machines: Sequence[Machine]) -> list[nodes.Node]:
        """Returns the record of each of ``machines`` that has it, a line each; a dash if none does."""
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
    """``{recorded}`page.key` ``: what each named machine measured, after its name, or a dash.

    What needs a GPU may have been recorded by none: `make check` asks only that a cell records it.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return self.shown([m for m in self.machines if m.name != HERE]), []

    def label(self, machine: Machine) -> list[nodes.Node]:
        return [identifier(machine.name), nodes.Text(sign(":"))]


class SpeedRole(HereRole):
    """``{speed}`page.key` ``, after "n times as fast": in brackets that this is slower, or no clear difference."""

    def shown(self, machines: Sequence[Machine]) -> list[nodes.Node]:
        """Returns what there is to say of the one machine's record, or nothing."""
        values = [m.records[self.text]["value"] for m in machines if self.text in m.records]
        said = [speed(value) for value in values if isinstance(value, (int, float, Measurement))]
        return [nodes.Text(sign("(@)").replace("@", self.say(word))) for word in said if word]


class GivenRole(SphinxRole):
    """``{given}`95 %` ``: a number that we chose, which nobody measured."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [nodes.inline("", self.text, classes=["dl-given"])], []


def setup(app: Sphinx) -> None:
    """Registers directive and roles."""
    app.add_directive("machines", MachinesDirective)
    app.add_role("here", HereRole())
    app.add_role("speed", SpeedRole())
    app.add_role("recorded", RecordedRole())
    app.add_role("given", GivenRole())
