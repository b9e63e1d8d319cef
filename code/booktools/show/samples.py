"""{samples}: a record drawn as what it is, every sample a line, the middle half a box."""

from __future__ import annotations

import html

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from booktools.executions.records import Machine
from booktools.show.display import Recording
from booktools.show.render import report_missing
from dlperf.measurement import Measurement, format_quantity

logger = logging.getLogger(__name__)
REACH = 6
"""How many interquartile ranges beyond the third quartile are drawn; what lies further out is counted."""


class SamplesDirective(SphinxDirective, Recording):
    """``{samples} key`` around a caption: all samples of one record of the machine that the site shows."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        key = self.arguments[0]
        machine = next((m for m in self.machines if self._measurement(m, key)), None)
        if machine is None:
            logger.warning("{samples}: no machine has measured %r", key, location=self.get_location())
            return []
        measurement = self._measurement(machine, key)
        assert measurement is not None
        box = nodes.container(classes=["dl-samples"])
        box += nodes.raw("", strip(measurement), format="html")
        self.state.nested_parse(self.content, self.content_offset, box)
        box += self._numbers(machine, key, measurement)
        report_missing(self.get_location())
        return [box]

    def _measurement(self, machine: Machine, key: str) -> Measurement | None:
        value = machine.records.get(key, {}).get("value")
        return value if isinstance(value, Measurement) else None

    def _numbers(self, machine: Machine, key: str, m: Measurement) -> nodes.paragraph:
        """Returns the line below the drawing: median, spread, number of samples, machine."""
        words = [
            f"{self.say('median')} {m}",
            f"{self.say('interquartile range')} {format_quantity(m.iqr, m.unit, 2)}",
            self.say(f"{len(m.samples)} samples"),
        ]
        line = nodes.paragraph("", " · ".join(words) + " · ", *self.machine_words(machine), classes=["dl-note"])
        if machine.stale(key):
            line += nodes.inline("", " " + self.say("stale"), classes=["dl-stale"])
        return line


def strip(m: Measurement) -> str:
    """Returns the drawing, as wide as its place: lines keep their weight, and the scale stands below as text."""
    low, (first, third) = min(m.samples), m.quartiles
    high = max(min(max(m.samples), third + REACH * m.iqr), low + abs(low) * 1e-9 + 1e-30)
    beyond = sum(sample > high for sample in m.samples)

    def x(value: float) -> str:
        return f"{(value - low) / (high - low) * 1000:.1f}"

    ticks = "".join(f"M{x(sample)} 12V52" for sample in m.samples if sample <= high)
    box = f"M{x(first)} 4H{x(third)}V60H{x(first)}Z"
    drawing = (
        '<svg viewBox="-4 0 1008 64" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="dl-tick" d="{ticks}"/><path class="dl-box" d="{box}"/>'
        f'<path class="dl-median" d="M{x(m.median)} 4V60"/></svg>'
    )
    ends = [format_quantity(low, m.unit, 3), format_quantity(high, m.unit, 3) + (f" (+{beyond} →)" if beyond else "")]
    scale = "".join(f"<span>{html.escape(end)}</span>" for end in ends)
    return f'{drawing}<p class="dl-scale">{scale}</p>'


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_directive("samples", SamplesDirective)
