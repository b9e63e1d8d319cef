"""Add a note to the first page that names the recorded machine, where the site shows a record."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from booktools.executions.records import HERE, Machine
from booktools.show.display import identifier, sign
from booktools.show.edition import Edition, current


class NameRecordedMachine(SphinxTransform):
    """Adds a note to the first page of a recorded machine's edition, before its first section."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        if self.env.docname != self.config.root_doc or current().name == HERE:
            return
        machine = next((each for each in current().machines if each.name == current().name), None)
        section = next(iter(self.document.findall(nodes.section)), None)
        if machine is None or section is None:
            return
        before = section.next_node(nodes.section)
        at = section.index(before) if before in section.children else len(section)
        section.insert(at, note(current(), machine))


def note(edition: Edition, machine: Machine) -> nodes.Node:
    """Returns the note: the machine's name, its GPUs (a dash where it has none), its processor, and the date."""
    say, environment = edition.catalogue.translate, machine.environment
    facts = {
        "GPUs": ", ".join(environment.get("gpus", [])) or "–",
        "processor": environment.get("cpu", "–"),
        "date": str(environment.get("date", "–"))[:10],
    }
    words: list[nodes.Node] = [identifier(machine.name)]
    for label, value in facts.items():
        words += [nodes.Text(" · " + say(label) + sign(":")), identifier(value)]
    title = nodes.title("", say("machine"))
    return nodes.admonition("", title, nodes.paragraph("", "", *words), classes=["note", "dl-recorded"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the note."""
    app.add_transform(NameRecordedMachine)
    return {"parallel_read_safe": True}
