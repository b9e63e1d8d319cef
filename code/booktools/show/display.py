"""Share what directives and roles need that show records: machines, the book's own strings, tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

from booktools.executions.records import HERE, Machine
from booktools.show.edition import current
from booktools.show.spread import ratio_words, words
from dlperf.measurement import FEW, Measurement, format_quantity

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


class Name(nodes.inline):
    """What is a name in every language: of a processor, a system, a version, a module. HTML says ``translate="no"``."""


def identifier(text: object) -> Name:
    """Returns text that is a name of its own in every language."""
    return Name("", str(text))


def changes(names: Sequence[str], say: Callable[[str], str]) -> list[nodes.Node]:
    """Returns what changed, with commas between: modules and packages as names, a page's cells by their word."""
    words = [nodes.Text(say(name)) if name == "cells" else identifier(name) for name in names]
    return [node for i, word in enumerate(words) for node in ([nodes.Text(", "), word] if i else [word])]


def sign(sign: str) -> str:
    """Returns a sign as the page's language sets it: full-width ones bring their own space."""
    said = current().catalogue.translate(sign)
    return said if said != sign else {":": ": ", "(@)": " (@)"}[sign]


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
        return current().machines

    def say(self, text: str) -> str:
        """Returns a string of the book's own in the page's language."""
        return current().catalogue.translate(text)

    def changes(self, names: Sequence[str]) -> list[nodes.Node]:
        """Returns what changed since a record or is lacking: names, but for the word for a page's cells."""
        return changes(names, self.say)

    def machine_name(self, machine: Machine) -> list[nodes.Node]:
        """Returns what a table calls a machine: its name, or `this build`."""
        if machine.name == HERE:
            return [nodes.Text(self.say("this build"))]
        return [identifier(machine.name)]

    def machine_words(self, machine: Machine) -> list[nodes.Node]:
        """Returns GPUs and processor in words, their names marked as names: ``NVIDIA H200; AMD EPYC, 2 cores``.

        Where processors of several designs share a name, the design follows it: ``AMD EPYC znver4, 2 cores``.
        """
        environment = machine.environment
        if not environment:
            return [nodes.Text(self.say("not recorded"))]
        gpus = [node for gpu in environment.get("gpus", []) for node in (identifier(gpu), nodes.Text("; "))]
        before, _, after = self.say(f"@, {environment.get('cores', 1)} cores").partition("@")
        processor = [nodes.Text(before), identifier(self._processor(machine)), nodes.Text(after)]
        return [*gpus, *(node for node in processor if node.astext())]

    def _processor(self, machine: Machine) -> str:
        """Returns a processor's name, with its design where others of that name have another; old records have none."""
        cpu, design = (machine.environment.get(key) for key in ("cpu", "microarchitecture"))
        designs = {m.environment.get("microarchitecture") for m in self.machines if m.environment.get("cpu") == cpu}
        return f"{cpu} {design}" if design and designs - {design, None} else str(cpu)

    def quantity(self, machine: Machine, key: str) -> list[nodes.Node]:
        """Returns one record as a table shows it: median and spread, or both modes; or why there is none."""
        if key not in machine.records:
            return [nodes.inline("", self.say("not recorded"), classes=["dl-muted"])]
        entry = machine.records[key]
        value = entry["value"]
        mark = ""
        if isinstance(value, Measurement):
            said = words(value, self.say)
            spread = f" ± {format_quantity(value.iqr / 2, value.unit, 2)}"
            shown: list[nodes.Node] = [nodes.Text(str(value)), nodes.inline("", spread, classes=["dl-muted"])]
            if len(value.samples) < FEW or len(value.modes()) > 1:  # then neither median nor spread says anything
                shown = [nodes.Text(said.value)]
            mark = said.mark
        elif "ratio" in entry:
            said = ratio_words(entry["ratio"], self.say)
            shown, mark = [nodes.Text(said.value)], said.mark
        else:
            shown = [nodes.Text(value if isinstance(value, str) else format_quantity(value, entry["unit"]))]
        if isinstance(value, Measurement) and machine.environment.get("gpus"):
            elsewhere = str(value.environment.get("device", "")).startswith("CPU")
            shown += [nodes.inline("", " (CPU)", classes=["dl-muted"])] * elsewhere
        if mark:
            shown.append(nodes.inline("", f" {mark}", classes=["dl-wide"]))
        if machine.stale(key):
            shown.append(nodes.inline("", " " + self.say("stale"), classes=["dl-stale"]))
        return shown


class AfterReading(Recording):
    """What fills in the place that a directive left on the page ``docname``, once every page has been read."""

    def __init__(self, app: Sphinx, docname: str = "") -> None:
        self.app = app
        self.docname = docname

    @property
    def config(self) -> Any:
        return self.app.config

    @property
    def env(self) -> BuildEnvironment:
        return self.app.env


def _begin_name(writer: HTML5Translator, node: Name) -> None:
    writer.body.append(writer.starttag(node, "span", "", CLASS="dl-name", translate="no"))


def _end_name(writer: HTML5Translator, node: Name) -> None:
    writer.body.append("</span>")


def setup(app: Sphinx) -> None:
    """Registers the node of names, and how HTML writes it."""
    app.add_node(Name, html=(_begin_name, _end_name))
