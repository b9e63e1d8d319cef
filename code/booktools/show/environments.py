"""{environments}, {machine}: what the machines are made of."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from booktools.executions.records import HERE, Machine, page_of
from booktools.show.display import Cell, Recording, identifier, table
from booktools.show.edition import current
from booktools.show.render import report_missing

logger = logging.getLogger(__name__)


class EnvironmentsDirective(SphinxDirective, Recording):
    """``{environments}``: what each recorded machine is made of."""

    ROWS: ClassVar = (
        ("processor", "cpu"),
        ("microarchitecture", "microarchitecture"),
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
        speed: list[Cell] = [self.say("short benchmarks around pages, at most, over their best")]
        speed += [_range(machine.slowdowns.values()) for machine in self.machines]
        stale: list[Cell] = [self.say("stale pages")]
        stale += [
            self.changes([page for page, done in m.executions.items() if done.stale]) or "–" for m in self.machines
        ]
        heads: list[Cell] = [self.say("machine"), *(self.machine_name(machine) for machine in self.machines)]
        box = table(heads, [*rows, libraries, speed, stale], "dl-environments")
        report_missing(self.get_location())
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
        if key == "driver":
            return [identifier(value.partition(" Release Build")[0])]  # what follows is who built it
        return [identifier(", ".join(value) if isinstance(value, list) else value)]


def _range(factors: Collection[float]) -> str:
    """Returns the least and the largest factor, to a tenth; a dash for none."""
    return "–".join(dict.fromkeys(f"{end(factors):.1f}" for end in (min, max))) if factors else "–"


class MachineRole(SphinxRole, Recording):
    """``{machine}`this` ``: the machine whose numbers the page shows, or a recorded one, in words.

    ``{machine}`page.key` ``: the machine whose value of that record is shown, which may have lent it.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        source = current().source(self.env.docname)
        shown = current().lenders.get(self.text, source.name if source else current().name)
        wanted = shown if self.text == HERE or page_of(self.text) == self.env.docname else self.text
        machine = next((m for m in self.machines if m.name == wanted), None)
        if machine is None:
            names = ", ".join(m.name for m in self.machines)
            logger.warning(
                "{machine}: no machine %r is recorded; there are: %s", wanted, names, location=self.get_location()
            )
            return [], []
        words = self.machine_words(machine)
        report_missing(self.get_location())
        return [nodes.inline("", "", *words, classes=["dl-machine"])], []


def setup(app: Sphinx) -> None:
    """Registers directive and role."""
    app.add_directive("environments", EnvironmentsDirective)
    app.add_role("machine", MachineRole())
