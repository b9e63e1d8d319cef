"""Say in the foot of a page which machine measured it, and whether that machine was itself meanwhile."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from booktools.executions import canary
from booktools.show.display import AfterReading
from booktools.show.edition import current


def _page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Gives the template a line about the execution that a page shows, if it shows one."""
    machine = current().source(pagename)
    shown = machine and machine.execution(pagename)
    if doctree is None or not shown or machine is None or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    say = current().catalogue.translate
    words = nodes.inline("", "", *AfterReading(app, pagename).machine_words(machine))
    context["measured"] = say("Measured on: @.").replace("@", app.builder.render_partial(words)["fragment"])
    if (factor := machine.slowdowns.get(pagename, 1.0)) > canary.NEAR:
        took = f"took up to {factor:.1f} times as long as at this machine's best."
        context["unsteady"] = say(f"Short benchmarks before and after this page {took}")


def setup(app: Sphinx) -> None:
    """Registers what the foot of a page says."""
    app.connect("html-page-context", _page, priority=910)
