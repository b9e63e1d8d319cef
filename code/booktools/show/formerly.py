"""Former limits in words, and the {moved} directive: limits of outcomes that were changed after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from booktools.claims.claims import Claim
from booktools.claims.limits import Former, Registered, registered
from booktools.show.display import Recording, identifier
from booktools.show.edition import current

FORMERLY = "; until {until} the limit was {limit}"
"""What is said of a limit that a claim had before."""

OF_MEDIAN = FORMERLY + ", for the median alone"
"""What is said of one that then asked less of the samples."""


def formerly(page: Recording, entry: Registered) -> Iterator[nodes.Node]:
    """Yields each limit that a claim or an outcome had before, as far as its figure is known.

    What would be said twice, of two predicates with one figure that went on one day, is said once.
    """
    said = set[tuple[str, ...]]()
    for former in entry.former:
        words = OF_MEDIAN if former.of_median(entry) else FORMERLY
        told = (words, former.until, former.limit, str(former.measured))
        if former.limit and told not in said:
            said.add(told)
            yield from _words(page, former, words)


def _words(page: Recording, former: Former, words: str) -> Iterator[nodes.Node]:
    words += ", and was changed after {machine} had measured {measured}" if former.measured else ""
    before, name, after = page.say(words).partition("{machine}")
    told = asdict(former) | {"limit": page.say(former.limit)}
    yield nodes.Text(before.format_map(told))
    if name:
        yield from (identifier(former.machine), nodes.Text(after.format_map(told)))


class MovedDirective(SphinxDirective, Recording):
    """``{moved}``: each outcome whose limit a machine had failed, with all limits that it had."""

    def run(self) -> list[nodes.Node]:
        known, register = current().outcomes, registered(current().book)
        lines = nodes.bullet_list(classes=["dl-moved"])
        for name in sorted(known.keys() & register.keys()):
            entry = register[name]
            if not isinstance(known[name], Claim) and any(former.measured for former in entry.former):
                lines += nodes.list_item("", nodes.paragraph("", "", identifier(name), *formerly(self, entry)))
        return [lines] if len(lines) else []


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_directive("moved", MovedDirective)
